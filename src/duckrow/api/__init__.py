"""The one way in: what every front end can ask of duckrow. It reads and wishes; only the scheduler moves jobs."""
