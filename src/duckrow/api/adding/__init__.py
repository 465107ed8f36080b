"""Adding jobs: the options, what they mean on this machine, and previews."""
