"""Sweeps: parameters, points, templates with their quoting, names and results."""
