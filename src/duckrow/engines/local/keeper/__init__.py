"""The keeper, parent of a host: it sees to the host's attempts when the host dies."""
