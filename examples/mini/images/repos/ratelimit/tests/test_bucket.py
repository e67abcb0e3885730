import pytest

from ratelimit import TokenBucket

from .clock import Clock


def test_burst():
    bucket = TokenBucket(rate=1, burst=3, clock=Clock())
    assert [bucket.allow() for _ in range(4)] == [True, True, True, False]


def test_refill_by_the_second():
    clock = Clock()
    bucket = TokenBucket(rate=2, burst=4, clock=clock)
    assert bucket.allow(4)
    clock.now += 1
    assert bucket.allow(2)
    assert not bucket.allow()


def test_wait_time():
    bucket = TokenBucket(rate=2, burst=4, clock=Clock())
    bucket.allow(4)
    assert bucket.wait_time(2) == 1.0
    assert bucket.wait_time(5) is None


@pytest.mark.parametrize("rate, burst", [(0, 1), (-1, 1), (1, 0)])
def test_bad_arguments(rate, burst):
    with pytest.raises(ValueError):
        TokenBucket(rate, burst)
