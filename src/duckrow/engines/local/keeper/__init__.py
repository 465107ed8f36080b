"""The keeper, the parent of a host: it looks after the host's attempts when the host dies."""
