"""Preloaded parents: a Python that has imported what runs need, and forks them."""
