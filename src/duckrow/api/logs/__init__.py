"""Reading logs: pieces of them, what is in them, and the errors that failed jobs had last."""
