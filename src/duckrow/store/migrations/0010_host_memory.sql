-- The most memory of the machine that an attempt has taken, where the kernel counts it for the attempt alone.

ALTER TABLE attempts ADD COLUMN host_peak_mb INTEGER;
