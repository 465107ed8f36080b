"""How to continue what is paused: one answer for everybody who says that something is."""

from __future__ import annotations


def resume_command(project: str) -> str:
    """`project`: empty if everything is paused. Then resuming one project would not help, and the other way round."""
    return f"duckrow resume --project {project}" if project else "duckrow resume"
