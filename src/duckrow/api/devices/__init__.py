"""The devices: what they are at, what people wish for them, and what is known of the memory of jobs."""
