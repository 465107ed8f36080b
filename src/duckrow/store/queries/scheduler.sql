-- What the scheduler asks and writes in its tick. Every move of a job names the state it comes from.

-- name: eligible
SELECT {queued_job} FROM jobs j
WHERE host_id = :host_id AND state = 'queued' AND held = 0 AND not_before IS NULL AND blockers = 0
  AND project NOT IN (SELECT project FROM pauses)
  AND 'project:' || project NOT IN (SELECT value FROM json_each(:full))
  AND (array_id IS NULL OR 'array:' || array_id NOT IN (SELECT value FROM json_each(:full)))
  AND NOT EXISTS (SELECT 1 FROM pauses WHERE project = '')
ORDER BY priority DESC, position
LIMIT :limit

-- name: restate_start
UPDATE attempts SET started_at = :started_at WHERE job_id = :job_id AND number = :number

-- name: forget_readings
DELETE FROM readings

-- name: restate_host
UPDATE hosts SET started_at = started_at + :step_s WHERE id = :host_id

-- name: foreign_holds
SELECT a.holds FROM attempts a JOIN hosts h ON h.id = a.host_id
WHERE a.ended_at IS NULL AND a.host_id <> :host_id AND h.kind <> 'slurm'

-- name: foreign_needs
SELECT j.needs FROM attempts a JOIN jobs j ON j.id = a.job_id JOIN hosts h ON h.id = a.host_id
WHERE a.ended_at IS NULL AND a.host_id <> :host_id AND j.needs IS NOT NULL AND h.kind <> 'slurm'

-- name: unfinished
SELECT EXISTS (SELECT 1 FROM jobs WHERE host_id = :host_id AND state <> 'done')

-- name: unfinished_jobs
SELECT id, state FROM jobs WHERE host_id = :host_id AND state <> 'done'

-- name: rehost
UPDATE jobs SET host_id = :host_id WHERE id = :id AND state = 'queued'

-- name: paused_projects
SELECT p.project FROM pauses p
WHERE EXISTS (
    SELECT 1 FROM jobs j
    WHERE j.host_id = :host_id AND j.state = 'queued' AND (p.project = '' OR p.project = j.project)
)

-- name: start_job
UPDATE jobs SET state = 'starting', attempts = attempts + 1, detail = '', changed_at = :at
WHERE id = :job_id AND state = 'queued'

-- name: insert_attempt
INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, started_mono, started_boot)
VALUES (:job_id, :number, :host_id, :keeper, :holds, :log, :wall, :mono, :boot)

-- name: move_job
UPDATE jobs SET state = :after, detail = :detail, changed_at = :at WHERE id = :job_id AND state = :before

-- name: finish_job
UPDATE jobs SET state = 'done', outcome = :outcome, detail = :detail, changed_at = :at, not_before = NULL
WHERE id = :job_id AND state = :before

-- name: requeue_job
UPDATE jobs SET state = 'queued', outcome = NULL, not_before = :not_before, not_before_boot = :not_before_boot,
       not_before_boot_id = :boot_id, retries_used = :retries_used, losses = :losses, detail = :detail, changed_at = :at
WHERE id = :job_id AND state = :before

-- name: failed_attempt
SELECT state FROM jobs
WHERE id = :job_id AND attempts = :attempt AND (state = 'queued' OR (state = 'done' AND outcome = 'failed'))

-- name: spare_retry
UPDATE jobs SET retries_used = :retries_used, not_before = NULL, not_before_boot = NULL, not_before_boot_id = NULL,
       detail = :detail
WHERE id = :job_id AND state = 'queued'

-- name: uncount_attempt
UPDATE jobs SET attempts = attempts - 1 WHERE id = :job_id

-- name: delete_attempt
DELETE FROM attempts WHERE job_id = :job_id AND number = :number

-- name: set_pid
UPDATE attempts SET pid = :pid, process = :process WHERE job_id = :job_id AND number = :number

-- name: begin_stop
UPDATE attempts SET stopped_for = :stopped_for, stop_began_at = :wall, stop_began_mono = :mono
WHERE job_id = :job_id AND number = :number

-- name: note_event
INSERT INTO events (job_id, number, at, before, after, outcome, attempt, detail)
SELECT :job_id, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE job_id = :job_id),
       :at, :state, :state, NULL, :number, :detail
WHERE NOT EXISTS (
    SELECT 1 FROM events WHERE job_id = :job_id AND attempt = :number AND before = after
      AND detail NOT IN ('suspended', 'resumed')
)

-- name: set_detail
UPDATE jobs SET detail = :detail WHERE id = :job_id AND state = :state

-- name: note_exit
UPDATE attempts SET exit_code = :exit_code, signal = :signal WHERE job_id = :job_id AND number = :number

-- name: finish_attempt
UPDATE attempts SET ended_at = :at, exit_code = :exit_code, signal = :signal, outcome = :outcome, detail = :detail,
       pid = coalesce(:pid, pid), log = :log, started_at = :started_at, host_peak_mb = :host_peak_mb
WHERE job_id = :job_id AND number = :number AND ended_at IS NULL

-- name: note_use
UPDATE attempts SET peak_memory_mb = nullif(max(coalesce(peak_memory_mb, 0), :peak_mb), 0),
       utilization = coalesce(:utilization, utilization), curve = :curve
WHERE job_id = :job_id AND number = :number

-- name: curve
SELECT curve FROM attempts WHERE job_id = :job_id AND number = :number

-- name: set_holds
UPDATE attempts SET holds = :holds WHERE job_id = :job_id AND number = :number

-- name: set_needs
UPDATE jobs SET needs = :needs WHERE id = :job_id

-- name: peaks
SELECT recipe, model, peak_mb FROM peaks

-- name: learn
INSERT INTO peaks (recipe, model, peak_mb, runs, at) VALUES (:recipe, :model, :peak_mb, 1, :at)
ON CONFLICT (recipe, model) DO UPDATE SET
    peak_mb = CASE WHEN corrected THEN peak_mb ELSE max(peak_mb, excluded.peak_mb) END, runs = runs + 1, at = excluded.at

-- name: keep_reading
INSERT OR REPLACE INTO readings (device, at, reading) VALUES (:device, :at, :reading)

-- name: looked_at_until
SELECT value FROM meta WHERE key = 'looked at until'

-- name: live_attempts_of_hosts
SELECT a.number, a.host_id AS watcher_id, a.keeper, a.holds, a.log, a.pid, a.process, a.started_at,
       -- Of attempts from before there were these columns, as the clocks stand now.
       coalesce(a.started_mono, a.started_at - :wall + :mono) AS started_mono,
       coalesce(a.started_boot, a.started_at - :wall + :boot) AS started_boot,
       coalesce(a.stop_began_mono, a.stop_began_at - :wall + :mono) AS stop_began_mono,
       a.stopped_for, a.exit_code, a.signal, j.host_id AS job_host_id, j.state,
       (SELECT w.wish FROM wishes w WHERE w.job_id = j.id AND w.wish GLOB 'suspended:*') AS suspended,
       {queued_job}
FROM attempts a JOIN jobs j ON j.id = a.job_id JOIN hosts h ON h.id = a.host_id
WHERE a.ended_at IS NULL AND h.kind <> 'slurm' -- those are on other machines
ORDER BY a.job_id

-- name: take_over
UPDATE attempts SET host_id = :host_id WHERE job_id = :job_id AND number = :number AND host_id = :from_host_id AND ended_at IS NULL

-- name: keepers_in_use
SELECT DISTINCT keeper FROM attempts WHERE ended_at IS NULL

-- name: wishes
SELECT w.id, w.job_id, w.wish, j.host_id, j.state FROM wishes w JOIN jobs j ON j.id = w.job_id
WHERE w.wish NOT GLOB 'suspended:*' ORDER BY w.id

-- name: stay_suspended
-- A standing wish: it stays until the job goes on or ends.
INSERT INTO wishes (job_id, wish, at) VALUES (:job_id, :wish, :at)

-- name: end_suspension
DELETE FROM wishes WHERE job_id = :job_id AND wish GLOB 'suspended:*'

-- name: restart_limit
UPDATE attempts SET started_mono = :started_mono WHERE job_id = :job_id AND number = :number

-- name: note_suspension
INSERT INTO events (job_id, number, at, before, after, outcome, attempt, detail)
SELECT :job_id, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE job_id = :job_id),
       :at, :state, :state, NULL, :number, :detail

-- name: hold
UPDATE jobs SET held = 1 WHERE id = :job_id AND state = 'queued'

-- name: forget_wish
DELETE FROM wishes WHERE id = :id

-- name: limits
SELECT scope, max_running FROM limits

-- name: any_dependencies
SELECT EXISTS (SELECT 1 FROM dependencies WHERE NOT met)

-- name: dependents
SELECT d.job_id, d.condition, j.state, j.if_broken FROM dependencies d JOIN jobs j ON j.id = d.job_id
WHERE d.on_job_id = :job_id AND NOT d.met

-- name: meet_dependency
UPDATE dependencies SET met = 1 WHERE job_id = :job_id AND on_job_id = :on_job_id

-- name: unblock
UPDATE jobs SET blockers = blockers - 1 WHERE id = :job_id

-- name: rehost_again
UPDATE jobs SET host_id = coalesce((SELECT host_id FROM batch_runs WHERE job_id = :job_id), :host_id) WHERE id = :job_id

-- name: reopen_batch
UPDATE hosts SET ended_at = NULL WHERE id = (SELECT host_id FROM batch_runs WHERE job_id = :job_id)

-- name: chain
SELECT d.job_id FROM dependencies d JOIN jobs j ON j.id = d.job_id
WHERE d.on_job_id = :job_id AND j.outcome = 'skipped'

-- name: unmeet_dependencies
UPDATE dependencies SET met = 0 WHERE on_job_id = :job_id AND job_id = :dependent

-- name: count_blockers
UPDATE jobs SET blockers = (SELECT count(*) FROM dependencies d WHERE d.job_id = jobs.id AND NOT d.met)
WHERE id = :job_id

-- name: device_wishes
SELECT device, wish FROM device_wishes

-- name: forget_device_wish
DELETE FROM device_wishes WHERE device = :device

-- name: environment
SELECT variables FROM environments WHERE id = :id
