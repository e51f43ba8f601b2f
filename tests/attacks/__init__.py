"""Tests of the attacks on people."""
