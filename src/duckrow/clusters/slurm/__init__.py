"""SLURM's own: its commands, and the script that becomes a pilot."""
