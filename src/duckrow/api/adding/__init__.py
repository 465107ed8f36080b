"""Adding jobs: what is asked for, what it means here, and what would become of it."""
