"""What only a real GPU can show."""
