"""The older tools by their own names, on top of duckrow."""
