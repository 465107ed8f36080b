"""Who may come in: hosts, origins, secrets, sizes, times."""
