"""A pilot on the pretend cluster, which duckrow itself does not know."""

from __future__ import annotations

from duckrow.clusters.known import CLUSTERS
from duckrow.scheduler.pilot import main
from tests.clusters.pretend_cluster import PRETEND, pretend_cluster

if __name__ == "__main__":
    CLUSTERS[PRETEND] = pretend_cluster
    main()
