"""Differential privacy for a release of rows: sampling, a private choice of the recoding, small classes dropped.

In the order of a run:

* ``delta``    beta and the smallest k for an epsilon and a delta (Li, Qardaji and Su 2012), never too small
* ``scores``   what a node is worth, with a proven sensitivity
* ``choose``   a node by OpenDP's noisy maximum, over the whole lattice or step by step (Bild, Kuhn and Prasser 2018)
* ``private_release``  the plan of a run, what a table must be like, rows drawn by a cryptographic generator, the
  release, and what the certificate says of it
* ``budget``   the ledger of what was spent
* ``compare``  the two ways of choosing beside each other, for public tables alone
"""
