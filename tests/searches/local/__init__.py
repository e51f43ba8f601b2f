"""Tests of local recoding."""
