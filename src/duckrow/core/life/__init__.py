"""The life of a job: its states and outcomes, retries, and what people wish for it."""
