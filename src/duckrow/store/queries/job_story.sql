-- What has happened to a job.

-- name: attempts
SELECT number, holds, log, started_at, ended_at, pid, exit_code, signal, outcome, peak_memory_mb, host_peak_mb,
       utilization, curve, detail
FROM attempts WHERE job_id = :job_id ORDER BY number

-- name: events
SELECT at, before, after, outcome, attempt, detail FROM events WHERE job_id = :job_id ORDER BY number
