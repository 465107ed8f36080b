"""Python calls as jobs: written into a folder before, called in a process of their own, read back after."""
