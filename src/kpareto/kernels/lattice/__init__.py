"""Compiled loops over recodings by whole levels: arrays in, arrays out. Each has a slow twin in the tests."""
