"""Token buckets: how often may something happen?"""

from .bucket import TokenBucket
from .keyed import KeyedLimiter

__all__ = ["KeyedLimiter", "TokenBucket"]
