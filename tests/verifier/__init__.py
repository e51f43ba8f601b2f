"""Tests of verifier."""
