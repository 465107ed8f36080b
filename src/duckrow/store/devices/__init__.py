"""Devices in the database: readings, history, wishes, faults, and the memory that recipes take."""
