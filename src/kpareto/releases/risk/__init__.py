"""How a release could be attacked, and how likely a person is found in it."""
