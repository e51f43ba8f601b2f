"""Tests of the rebuilt papers."""
