"""What all tests share: one Hypothesis profile, so that a busy machine fails no test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: the first call of a compiled loop takes seconds, and test machines are shared.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
