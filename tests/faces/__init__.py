"""Tests of faces."""
