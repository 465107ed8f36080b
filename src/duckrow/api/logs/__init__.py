"""Reading logs: parts of them, searching them, and the errors of failed jobs."""
