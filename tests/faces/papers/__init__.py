"""Tests of faces papers."""
