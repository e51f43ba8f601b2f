"""Tests of engines duckdb."""
