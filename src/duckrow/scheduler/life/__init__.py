"""What happens to jobs and attempts from tick to tick: ends, stops, suspensions, wishes, delays, recovery."""
