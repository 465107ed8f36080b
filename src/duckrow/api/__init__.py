"""What front ends can ask of duckrow. It reads, and records wishes; only the scheduler changes states."""
