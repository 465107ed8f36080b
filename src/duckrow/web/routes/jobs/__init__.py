"""Jobs over HTTP: list, show, log, add, act, wait."""
