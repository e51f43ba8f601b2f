"""Tests of searches lattice."""
