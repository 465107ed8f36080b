-- What the commands that answer ask: what lies ahead of a job, how long similar jobs took.

-- name: durations
SELECT j.project, j.name, j.command, j.cwd, j.needs, s.name AS sweep, a.ended_at - a.started_at AS duration_s
FROM (
    SELECT job_id, started_at, ended_at FROM attempts WHERE outcome = 'succeeded' ORDER BY job_id DESC LIMIT :limit
) a JOIN jobs j ON j.id = a.job_id LEFT JOIN points p ON p.job_id = j.id LEFT JOIN sweeps s ON s.id = p.sweep_id
WHERE a.ended_at - a.started_at >= :least_s
ORDER BY a.job_id

-- name: any_succeeded
SELECT EXISTS (SELECT 1 FROM job_counts WHERE outcome = 'succeeded' AND jobs > 0)

-- name: noted
SELECT job_id FROM events
WHERE job_id IN (SELECT value FROM json_each(:ids)) AND detail = :detail AND at >= :since

-- name: unfinished
SELECT id FROM jobs WHERE state <> 'done' ORDER BY id

-- name: waiting_for_runs
SELECT j.id, j.host_id FROM jobs j JOIN hosts h ON h.id = j.host_id WHERE j.state = 'queued' AND h.kind = 'run' ORDER BY j.id

-- name: variables_of_job
SELECT e.variables FROM jobs j JOIN environments e ON e.id = j.environment_id WHERE j.id = :job_id

-- name: sweep_of
SELECT sweep_id FROM points WHERE job_id = :job_id

-- name: curve
SELECT started_at, holds, curve FROM attempts WHERE job_id = :job_id AND number = :number

-- name: attempts_between
SELECT a.job_id, a.number, a.holds AS holds_text, a.started_at, a.ended_at, a.outcome, j.name, j.array_index, j.project, h.name AS host
FROM attempts a JOIN jobs j ON j.id = a.job_id JOIN hosts h ON h.id = j.host_id
WHERE a.started_at <= :end AND coalesce(a.ended_at, :end) >= :begin
ORDER BY a.started_at DESC LIMIT :limit
