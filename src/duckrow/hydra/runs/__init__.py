"""What happens in the process of each run: its config is composed, and Hydra calls the function."""
