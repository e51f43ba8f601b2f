"""What an analyst still gets from a release: counts, relations between columns, models and own questions."""
