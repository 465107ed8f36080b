"""The loop as a SLURM job, over runs that it takes from a batch's folder."""
