-- Attempts from their start to their end, as the host that watches them writes them.

-- name: insert_attempt
INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, started_mono, started_boot)
VALUES (:job_id, :number, :host_id, :keeper, :holds, :log, :wall, :mono, :boot)

-- name: set_pid
UPDATE attempts SET pid = :pid, process = :process, started_at = :wall, started_mono = :mono, started_boot = :boot
WHERE job_id = :job_id AND number = :number

-- name: begin_stop
UPDATE attempts SET stopped_for = :stopped_for, stop_began_at = :wall, stop_began_mono = :mono
WHERE job_id = :job_id AND number = :number

-- name: note_exit
UPDATE attempts SET exit_code = :exit_code, signal = :signal WHERE job_id = :job_id AND number = :number

-- name: finish_attempt
UPDATE attempts SET ended_at = :at, exit_code = :exit_code, signal = :signal, outcome = :outcome, detail = :detail,
       pid = coalesce(:pid, pid), log = :log, started_at = :started_at, host_peak_mb = :host_peak_mb
WHERE job_id = :job_id AND number = :number AND ended_at IS NULL

-- name: uncount_attempt
UPDATE jobs SET attempts = attempts - 1 WHERE id = :job_id

-- name: delete_attempt
DELETE FROM attempts WHERE job_id = :job_id AND number = :number

-- name: restate_start
UPDATE attempts SET started_at = :started_at WHERE job_id = :job_id AND number = :number

-- name: take_over
UPDATE attempts SET host_id = :host_id WHERE job_id = :job_id AND number = :number AND host_id = :from_host_id AND ended_at IS NULL

-- name: keepers_in_use
SELECT DISTINCT keeper FROM attempts WHERE ended_at IS NULL

-- name: live_attempts_of_hosts
SELECT a.number, a.host_id AS watcher_id, a.keeper, a.holds, a.log, a.pid, a.process, a.started_at,
       -- Of attempts from before there were these columns, as the clocks stand now.
       coalesce(a.started_mono, a.started_at - :wall + :mono) AS started_mono,
       coalesce(a.started_boot, a.started_at - :wall + :boot) AS started_boot,
       coalesce(a.stop_began_mono, a.stop_began_at - :wall + :mono) AS stop_began_mono,
       a.stopped_for, a.exit_code, a.signal, j.host_id AS job_host_id, j.state,
       (SELECT w.wish FROM wishes w WHERE w.job_id = j.id AND w.wish GLOB 'suspended:*') AS suspended,
       {queued_job}
FROM live_here a JOIN jobs j ON j.id = a.job_id
ORDER BY a.job_id
