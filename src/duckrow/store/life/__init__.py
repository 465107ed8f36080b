"""The life of a job in the database: its moves and reruns, what it waits for, and what people want of it."""
