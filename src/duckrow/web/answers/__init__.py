"""How answers are worked out and sent: threads, changes, caches."""
