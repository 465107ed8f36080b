-- Jobs that are done, or wait for a retry, start again.

-- name: failed_attempt
SELECT state FROM jobs
WHERE id = :job_id AND attempts = :attempt AND (state = 'queued' OR (state = 'done' AND outcome = 'failed'))

-- name: spare_retry
UPDATE jobs SET retries_used = :retries_used, not_before = NULL, not_before_boot = NULL, not_before_boot_id = NULL,
       detail = :detail
WHERE id = :job_id AND state = 'queued'

-- name: rehost_again
UPDATE jobs SET host_id = coalesce((SELECT batch_id FROM batch_runs WHERE job_id = :job_id), :host_id) WHERE id = :job_id

-- name: reopen_batch
UPDATE batches SET closed_at = NULL WHERE id = (SELECT batch_id FROM batch_runs WHERE job_id = :job_id)
