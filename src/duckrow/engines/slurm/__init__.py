"""Runs on a SLURM cluster: a folder that pilots take runs from, and SLURM's own commands. See docs/decisions/0009."""
