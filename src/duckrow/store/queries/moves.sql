-- The moves of a job through its states. Each names the state it comes from.

-- name: start_job
UPDATE jobs SET state = 'starting', attempts = attempts + 1, detail = '', changed_at = :at
WHERE id = :job_id AND state = 'queued'

-- name: move_job
UPDATE jobs SET state = :after, detail = :detail, changed_at = :at WHERE id = :job_id AND state = :before

-- name: finish_job
UPDATE jobs SET state = 'done', outcome = :outcome, detail = :detail, changed_at = :at, not_before = NULL
WHERE id = :job_id AND state = :before

-- name: kill_queued
UPDATE jobs SET state = 'done', outcome = 'killed', detail = :detail, changed_at = :at, not_before = NULL
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'queued'

-- name: requeue_job
UPDATE jobs SET state = 'queued', outcome = NULL, not_before = :not_before, not_before_boot = :not_before_boot,
       not_before_boot_id = :boot_id, retries_used = :retries_used, losses = :losses, detail = :detail, changed_at = :at
WHERE id = :job_id AND state = :before

-- name: story
SELECT before, after FROM events WHERE job_id = :job_id ORDER BY number
