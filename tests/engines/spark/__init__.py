"""Tests of engines spark."""
