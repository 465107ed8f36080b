"""Looking at jobs: lists, one job in full, why it waits, and when it will be done."""
