"""The Python interface: `duckrow.submit`, `duckrow.sweep`, handles and the executor."""
