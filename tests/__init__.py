"""The tests; a package so that they can share ``tests.strategies`` and ``tests.twins``."""
