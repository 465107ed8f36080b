"""What a job is: its spec, its attempts, arrays, dependencies, and how people name, choose and type jobs."""
