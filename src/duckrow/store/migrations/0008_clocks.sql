-- Spans are measured by clocks that nobody sets: limits and graces by CLOCK_MONOTONIC, delays by CLOCK_BOOTTIME.
-- Null in rows from before this migration: there the wall time stands in.

ALTER TABLE attempts ADD COLUMN started_mono REAL;
ALTER TABLE attempts ADD COLUMN started_boot REAL;
ALTER TABLE attempts ADD COLUMN stop_began_mono REAL;

-- A delay (a retry, --begin +2h) is also noted by CLOCK_BOOTTIME, which decides for as long as the machine is not booted
-- again. Then, and for a time of day (--begin 18:00), not_before decides.
ALTER TABLE jobs ADD COLUMN not_before_boot REAL;
ALTER TABLE jobs ADD COLUMN not_before_boot_id TEXT;

DROP INDEX jobs_delayed;
CREATE INDEX jobs_at_a_time ON jobs (not_before) WHERE not_before IS NOT NULL AND not_before_boot IS NULL;
CREATE INDEX jobs_delayed ON jobs (not_before_boot) WHERE not_before IS NOT NULL AND not_before_boot IS NOT NULL;
