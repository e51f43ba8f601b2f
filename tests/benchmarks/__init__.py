"""Tests of faces bench."""
