"""The life of a job: its states and outcomes, retries, what it waits for, and what people wish for it."""
