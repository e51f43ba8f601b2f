"""Tests of what an analyst still gets."""
