"""Many buckets, one a key."""

import time

from .bucket import TokenBucket


class KeyedLimiter:
    """A bucket for each user, address, ... made when it is first seen."""

    def __init__(self, rate, burst, clock=time.monotonic):
        self._new = lambda: TokenBucket(rate, burst, clock)
        self._buckets = {}

    def allow(self, key, n=1):
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = self._new()
        return bucket.allow(n)

    def __len__(self):
        return len(self._buckets)
