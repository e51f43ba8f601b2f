"""Tests of engines postgres."""
