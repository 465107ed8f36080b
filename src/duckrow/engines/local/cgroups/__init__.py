"""A cgroup for each attempt that lasts: made, entered, found again, removed."""
