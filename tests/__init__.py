"""The tests; a package so that they can share ``tests.twins.strategies`` and ``tests.twins.slow``."""
