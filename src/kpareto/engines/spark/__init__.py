"""Frames and tables of a Spark session."""
