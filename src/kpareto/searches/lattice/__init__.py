"""Searches over whole levels: one file per search, as docs/searches-lattice.md explains them."""
