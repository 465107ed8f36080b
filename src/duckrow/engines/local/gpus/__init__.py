"""What jobs need on a GPU beside its memory: a lock between users, and MPS."""
