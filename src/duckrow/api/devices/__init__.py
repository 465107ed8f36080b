"""Devices: their state, wishes about them, and what is known about the memory of jobs."""
