"""What people see: the command line, the report, the page, the papers and the benchmarks."""
