"""What the Linux kernel tells of processes and files. Everyone but `core` may ask; it imports only NamedTuple."""
