"""Limits: how many jobs of a project or an array may run at a time on this host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from duckrow.core.job import LiveAttempt


class Limits:
    def __init__(self) -> None:
        self.most: dict[str, int] = {}  # scope -> how many at a time
        self.full: frozenset[str] = frozenset()  # those that could take no more when we last looked

    def room(self, live: Iterable[LiveAttempt], host_id: int) -> dict[str, int]:
        """How many more of each limited scope may run."""
        if not self.most:
            return {}
        running = Counter(scope for a in live if a.job_host_id == host_id for scope in a.job.scopes)
        return {scope: most - running[scope] for scope, most in self.most.items()}
