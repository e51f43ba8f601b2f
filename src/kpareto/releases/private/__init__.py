"""Differential privacy for a release of rows: sampling, a private choice of the recoding, small classes dropped.

In the order of a run:

* ``delta``    beta and the smallest k for an epsilon and a delta (Li, Qardaji and Su 2012), never too small
* ``scores``   what a node is worth, with a proven sensitivity (Bild, Kuhn and Prasser 2018), and the choice of one by
  OpenDP's noisy maximum, over the whole lattice or step by step
* ``private_release``  the plan of a run, what a table must be like, rows drawn by a cryptographic generator, the
  release, and what the certificate says of it
* ``budget``   the ledger of what was spent
"""
