"""Which process belongs to which attempt, and how to end an attempt with all its processes."""
