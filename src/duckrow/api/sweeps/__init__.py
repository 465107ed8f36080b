"""Sweeps: from files and grids to runs, and how they stand."""
