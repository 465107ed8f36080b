"""The memory of jobs while they run: watched, learned, reserved, and more of it after running out."""
