"""Properties are tested without a stopwatch, since machines share their cores; a failure prints how to repeat it."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "replay",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("replay")
