"""Attacks on people, with a control: who is singled out, linked and inferred from a release, and who anyway."""
