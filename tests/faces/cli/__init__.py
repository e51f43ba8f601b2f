"""Tests of faces cli."""
