-- What front ends change of jobs that wait. Each is a compare-and-set on `queued`: a job that has started is left alone.

-- name: set_held
UPDATE jobs SET held = :held WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'queued'

-- name: set_priority
UPDATE jobs SET priority = :priority WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'queued'

-- name: rehost
UPDATE jobs SET host_id = :host_id WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'queued'

-- name: queued_among
SELECT j.id FROM json_each(:ids) wanted CROSS JOIN jobs j ON j.id = wanted.value WHERE j.state = 'queued'
ORDER BY wanted.key

-- name: set_position
UPDATE jobs SET position = :position, priority = :priority WHERE id = :id AND state = 'queued'

-- name: place_of
SELECT host_id, priority, position, state FROM jobs WHERE id = :id

-- name: spec_of
SELECT {editable} FROM jobs WHERE id = :id

-- name: remove_job
DELETE FROM jobs WHERE id = :id AND state IN ('queued', 'done')

-- name: remove_attempts
DELETE FROM attempts WHERE job_id IN (SELECT value FROM json_each(:ids))

-- name: remove_points
DELETE FROM points WHERE job_id IN (SELECT value FROM json_each(:ids))

-- name: remove_events
DELETE FROM events WHERE job_id IN (SELECT value FROM json_each(:ids))

-- name: remove_dependencies
DELETE FROM dependencies
WHERE job_id IN (SELECT value FROM json_each(:ids)) OR on_job_id IN (SELECT value FROM json_each(:ids))

-- name: remove_batch_runs
DELETE FROM batch_runs WHERE job_id IN (SELECT value FROM json_each(:ids))

-- name: remove_wishes
DELETE FROM wishes WHERE job_id IN (SELECT value FROM json_each(:ids))

-- name: waiting_for
SELECT d.job_id FROM dependencies d JOIN jobs j ON j.id = d.job_id WHERE d.on_job_id = :id AND NOT d.met AND j.state = 'queued'

-- name: dependencies_of
SELECT d.on_job_id, d.condition, d.met, j.array_id, j.name AS array
FROM dependencies d JOIN jobs j ON j.id = d.on_job_id WHERE d.job_id = :id ORDER BY d.on_job_id

-- name: outcome_of
SELECT state, outcome FROM jobs WHERE id = :id

-- name: old_jobs
SELECT id FROM jobs WHERE state = 'done' AND changed_at < :before

-- name: waiting_of_host
SELECT id FROM jobs WHERE host_id = :host_id AND state = 'queued' AND changed_at <= :before ORDER BY id

-- name: running_of
SELECT coalesce(sum(j.project = :project), 0) AS of_project, coalesce(sum(j.array_id = :array_id), 0) AS of_array
FROM attempts a JOIN jobs j ON j.id = a.job_id WHERE a.ended_at IS NULL AND j.host_id = :host_id

-- name: waiting_facts
SELECT id, host_id, project, name, command, cwd, gpus, needs, held, not_before, priority, position, array_id, state,
       outcome, detail, created_at, timeout_s, grace_s, attempts,
       state IN ('starting', 'running') AND EXISTS (
           SELECT 1 FROM wishes w WHERE w.job_id = jobs.id AND w.wish GLOB 'suspended:*'
       ) AS suspended
FROM jobs WHERE id = :id

-- name: first_ahead
SELECT id, gpus, needs, priority, created_at FROM jobs
WHERE {ready} AND host_id = :host_id
  AND project NOT IN (SELECT project FROM pauses)
  AND (priority > :priority OR (priority = :priority AND position < :position))
ORDER BY priority DESC, position
LIMIT 50

-- name: count_ahead
SELECT count(*) FROM jobs
WHERE {ready} AND host_id = :host_id
  AND project NOT IN (SELECT project FROM pauses)
  AND (priority > :priority OR (priority = :priority AND position < :position))
