-- What has become of the runs of batches, copied from their folders.

-- name: rehost
UPDATE jobs SET host_id = :batch_id WHERE id = :job_id

-- name: start
UPDATE jobs SET state = 'starting', attempts = :attempts, detail = '', changed_at = :at
WHERE id = :job_id AND state = 'queued'

-- name: count_attempts
UPDATE jobs SET attempts = max(attempts, :attempts) WHERE id = :job_id

-- name: note_detail
UPDATE jobs SET detail = :detail WHERE id = :job_id AND detail <> :detail

-- name: note_order
UPDATE jobs SET held = :held, priority = :priority WHERE id = :job_id AND state = 'queued'

-- name: put_attempt
INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, pid, ended_at, exit_code, signal, outcome,
                      peak_memory_mb, utilization, detail)
VALUES (:job_id, :number, :batch_id, '', :holds, :log, :started_at, :pid, :ended_at, :exit_code, :signal, :outcome,
        :peak_memory_mb, :utilization, :detail)
ON CONFLICT (job_id, number) DO UPDATE SET
    holds = excluded.holds, log = excluded.log, started_at = excluded.started_at, pid = excluded.pid,
    ended_at = excluded.ended_at, exit_code = excluded.exit_code, signal = excluded.signal, outcome = excluded.outcome,
    peak_memory_mb = excluded.peak_memory_mb, utilization = excluded.utilization, detail = excluded.detail

-- name: close_attempts
UPDATE attempts SET ended_at = :at, outcome = :outcome WHERE job_id = :job_id AND ended_at IS NULL
