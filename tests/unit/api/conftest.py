"""Property tests say what is true, not how fast: a busy machine must not fail them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "calm", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("calm")
