from ratelimit import KeyedLimiter

from .clock import Clock


def test_keys_do_not_share():
    limiter = KeyedLimiter(rate=1, burst=1, clock=Clock())
    assert limiter.allow("a") and limiter.allow("b")
    assert not limiter.allow("a")
    assert len(limiter) == 2
