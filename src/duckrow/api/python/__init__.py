"""Python's own way in: `duckrow.submit`, `duckrow.sweep`, handles and the executor."""
