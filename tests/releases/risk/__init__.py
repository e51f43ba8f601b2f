"""Tests of releases risk."""
