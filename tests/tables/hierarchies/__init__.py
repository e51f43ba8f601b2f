"""Tests of tables hierarchies."""
