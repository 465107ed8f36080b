"""The results of a sweep, and the metrics that runs report."""
