"""A fuzzer: random tables, jobs and faults against the public face, judged by an oracle that shares no line with it."""
