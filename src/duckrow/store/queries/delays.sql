-- Jobs that must not begin yet. `not_before_boot` of a job counts only while `not_before` is set.

-- name: next_at_a_time
SELECT min(not_before) FROM jobs WHERE not_before IS NOT NULL AND not_before_boot IS NULL

-- name: next_delayed
SELECT min(not_before_boot) FROM jobs WHERE not_before IS NOT NULL AND not_before_boot IS NOT NULL

-- name: release_at_a_time
UPDATE jobs SET not_before = NULL WHERE not_before IS NOT NULL AND not_before_boot IS NULL AND not_before <= :wall

-- name: release_delayed
UPDATE jobs SET not_before = NULL, not_before_boot = NULL, not_before_boot_id = NULL
WHERE not_before IS NOT NULL AND not_before_boot IS NOT NULL AND not_before_boot <= :boot

-- name: end_delays_of_earlier_boots
UPDATE jobs SET not_before_boot = NULL, not_before_boot_id = NULL
WHERE not_before IS NOT NULL AND not_before_boot IS NOT NULL AND not_before_boot_id IS NOT :boot_id

-- name: restate_delays
UPDATE jobs SET not_before = not_before_boot + :wall_at_boot WHERE not_before IS NOT NULL AND not_before_boot IS NOT NULL
