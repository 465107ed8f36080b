"""What a job of a cluster asks for, which runs it may take, and how many jobs there should be, as rules."""
