"""Tests of searches cuts."""
