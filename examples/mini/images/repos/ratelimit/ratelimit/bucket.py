"""One bucket."""

import time


class TokenBucket:
    """Allows `rate` events a second on average, and `burst` at once.

    The clock is a function that returns seconds and never goes back.
    """

    def __init__(self, rate, burst, clock=time.monotonic):
        if rate <= 0 or burst < 1:
            raise ValueError("rate must be positive and burst at least 1")
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._tokens = burst
        self._updated = clock()

    def _refill(self):
        now = self._clock()
        self._tokens += int((now - self._updated) * self.rate)
        self._updated = now

    @property
    def available(self):
        """How many events would be allowed now."""
        self._refill()
        return int(self._tokens)

    def allow(self, n=1):
        """Take n tokens if there are as many, and tell whether there were."""
        self._refill()
        if n > self._tokens:
            return False
        self._tokens -= n
        return True

    def wait_time(self, n=1):
        """Seconds until allow(n) would succeed; None if it never will."""
        if n > self.burst:
            return None
        self._refill()
        return max(0.0, (n - self._tokens) / self.rate)
