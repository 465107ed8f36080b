"""Attempts in the database: from start to end, what they hold, what they use."""
