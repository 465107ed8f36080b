"""What SLURM asks and offers, as rules: requests, time left, and the words of sbatch."""
