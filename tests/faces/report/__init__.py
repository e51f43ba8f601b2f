"""Tests of faces report."""
