"""The state folder: what lies where, whose it is, and the lock of a living host."""
