"""The words of sbatch: the options and lines of its scripts, their values, and the variables that jobs get."""
