"""The loop as a job of a cluster, over runs that it takes from a batch's folder."""
