"""Python calls as jobs: written into a folder, called in their own process, and read back."""
