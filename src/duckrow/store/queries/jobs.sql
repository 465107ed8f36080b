-- What front ends add, ask and wish.

-- name: last_job_id
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)

-- name: last
SELECT id FROM jobs ORDER BY id DESC LIMIT 1

-- name: last_array
-- The jobs of an array are added together, so that none stands between them; array_id is the first.
SELECT id FROM jobs WHERE id >= (SELECT coalesce(array_id, id) FROM jobs ORDER BY id DESC LIMIT 1)

-- name: continue_from
UPDATE jobs SET attempts = :attempts, retries_used = :retries_used WHERE id = :job_id

-- name: find_environment
SELECT id FROM environments WHERE variables = :variables

-- name: insert_environment
INSERT INTO environments (variables) VALUES (:variables)

-- name: environment
SELECT variables FROM environments WHERE id = :id

-- name: glance
SELECT id, state, outcome, held, name, array_index FROM jobs WHERE id IN (SELECT value FROM json_each(:ids))

-- name: pick
SELECT {listed_job},
       a.holds AS holds_text, a.log, a.started_at, a.ended_at, a.pid, a.exit_code, a.signal, a.peak_memory_mb, a.utilization,
       h.name AS host_name, s.name AS sweep, p.parameters,
       j.id IN (SELECT job_id FROM wishes WHERE wish GLOB 'suspended:*') AS suspended
FROM jobs j
JOIN hosts h ON h.id = j.host_id
LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempts
LEFT JOIN points p ON p.job_id = j.id
LEFT JOIN sweeps s ON s.id = p.sweep_id
WHERE {where}
ORDER BY {order}
LIMIT :limit OFFSET :offset

-- name: owners
SELECT id, host_id FROM jobs WHERE id IN (SELECT value FROM json_each(:ids))

-- name: live
SELECT a.job_id, a.holds AS holds_text, a.started_at, a.pid, a.host_id, j.name, j.project, j.command, j.cwd, j.state, j.needs,
       j.host_id AS job_host_id, j.array_index, s.name AS sweep
FROM live_here a JOIN jobs j ON j.id = a.job_id
LEFT JOIN points p ON p.job_id = j.id LEFT JOIN sweeps s ON s.id = p.sweep_id
ORDER BY a.job_id

-- name: add_wishes
-- Of a job that is gone nobody wishes anything: no host would ever fulfil it. CROSS: in the order of the ids.
INSERT INTO wishes (job_id, wish, at)
SELECT j.id, :wish, :at FROM json_each(:ids) wanted CROSS JOIN jobs j ON j.id = wanted.value ORDER BY wanted.key

-- name: with_an_attempt
SELECT job_id FROM attempts WHERE ended_at IS NULL

-- name: wished
SELECT job_id FROM wishes WHERE wish NOT GLOB 'suspended:*' ORDER BY id

-- name: suspended
SELECT job_id, wish FROM wishes WHERE wish GLOB 'suspended:*' ORDER BY job_id

-- name: pauses
SELECT project FROM pauses ORDER BY project

-- name: add_pause
INSERT OR IGNORE INTO pauses (project, at) VALUES (:project, :at)

-- name: remove_pause
DELETE FROM pauses WHERE project = :project

-- name: held_among
SELECT j.id FROM json_each(:ids) wanted CROSS JOIN jobs j ON j.id = wanted.value WHERE j.state = 'queued' AND j.held

-- name: pauses_among
SELECT p.project FROM pauses p
WHERE EXISTS (
  SELECT 1 FROM json_each(:ids) wanted CROSS JOIN jobs j ON j.id = wanted.value
  WHERE (j.state = 'queued' OR j.id IN (SELECT value FROM json_each(:suspended)))
    AND (p.project = '' OR j.project = p.project)
)
ORDER BY p.project

-- name: first_unfinished
SELECT j.id FROM json_each(:ids) wanted CROSS JOIN jobs j ON j.id = wanted.value WHERE j.state <> 'done' LIMIT 1

-- name: unfinished_by_host
SELECT host_id, state, count(*) FROM jobs
WHERE id IN (SELECT value FROM json_each(:ids)) AND state <> 'done' GROUP BY host_id, state
