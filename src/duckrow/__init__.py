"""duckrow gets your GPU jobs in a row."""

__version__ = "0.1.0"
