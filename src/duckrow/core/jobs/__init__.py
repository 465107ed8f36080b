"""What a job is: its spec, its attempts, arrays, and how people name, choose and type jobs."""
