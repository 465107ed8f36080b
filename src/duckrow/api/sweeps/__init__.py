"""Sweeps: from files and grids to runs, and their progress."""
