"""Tests of faces web."""
