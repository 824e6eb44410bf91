"""How well the cache does for a model: what was expected of it against what was reported."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from eunoe.domain.budget import LEAST_CACHED_TOKENS
from eunoe.stages.accounting.price import ReportedUse

CACHE_REPORTS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit:
    """The cache in one request.

    Attributes:
        expected: tokens that repeat the request before it, in the provider's tokens.
        hit: tokens that were read from the cache.
        prompt: tokens of the whole prompt.
    """

    expected: int
    hit: int
    prompt: int

    @property
    def share(self) -> float:
        """Part of the prompt that came from the cache, in [0, 1]."""
        return self.hit / self.prompt if self.prompt else 0.0

    @property
    def missed(self) -> bool:
        """A prefix that should have been there was not: expired, evicted, or another server."""
        return self.expected >= LEAST_CACHED_TOKENS and self.hit * 2 < self.expected


def measure_cache(reported: ReportedUse, *, repeated: int, counted: int) -> CacheHit:
    """Compare what should have come from the cache with what did.

    Args:
        reported: what the provider reported for the request.
        repeated: tokens by our count that open the request before it, too.
        counted: our count of the whole prompt; turns ``repeated`` into the provider's tokens.
    """
    scale = reported.prompt / counted if counted > 0 else 1.0
    expected = min(reported.prompt, max(0, round(repeated * scale)))
    return CacheHit(expected=expected, hit=reported.cached, prompt=reported.prompt)


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """What the newest few requests of a model say of its cache.

    Attributes:
        shares: cached tokens per expected token, in [0, 1], oldest first; at most 9.
    """

    shares: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        """Part of a repeated prefix to expect from the cache, in [0, 1].

        The median; a 1 stands in until there are three, since a cache that ran out once, overnight,
        says little of the next request.
        """
        shares = self.shares if len(self.shares) >= 3 else (*self.shares, 1.0)
        return statistics.median(shares)

    def learn(self, hit: CacheHit) -> CacheRecord:
        """Take in one request; one with a small prefix says nothing."""
        if hit.expected < LEAST_CACHED_TOKENS:
            return self
        share = round(min(1.0, hit.hit / hit.expected), 4)
        return CacheRecord((*self.shares, share)[-CACHE_REPORTS:])
