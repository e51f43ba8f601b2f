"""Tests of kernels: each against a slow twin."""
