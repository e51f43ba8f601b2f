"""Compiled loops over recodings by cuts: arrays in, arrays out. Each has a slow twin in the tests."""
