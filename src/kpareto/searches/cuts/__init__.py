"""Searches over cuts: one file per search, as docs/searches-cuts.md explains them."""
