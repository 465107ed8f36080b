"""The state folder: its layout, its owner, and the lock of a live host."""
