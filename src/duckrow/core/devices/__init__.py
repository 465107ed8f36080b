"""What a machine has: devices, seats, what a job needs of them, and what is left to others."""
