-- Jobs that wait for a host: the head of the queue, and what is left of it.

-- name: eligible
SELECT {queued_job} FROM jobs j
WHERE {ready} AND host_id = :host_id
  AND project NOT IN (SELECT project FROM pauses)
  AND 'project:' || project NOT IN (SELECT value FROM json_each(:full))
  AND (array_id IS NULL OR 'array:' || array_id NOT IN (SELECT value FROM json_each(:full)))
  AND j.id NOT IN (SELECT value FROM json_each(:without))
ORDER BY priority DESC, position
LIMIT :limit

-- name: is_paused
SELECT EXISTS (SELECT 1 FROM pauses WHERE project = '')

-- name: unfinished
-- Those that wait and those that have an attempt, each by its index: the jobs that are done are not read.
SELECT j.id, j.state FROM jobs j WHERE {ready} AND j.host_id = :host_id
UNION ALL
SELECT j.id, j.state FROM jobs j WHERE {not_ready} AND j.host_id = :host_id
UNION ALL
SELECT j.id, j.state FROM attempts a INDEXED BY attempts_live CROSS JOIN jobs j ON j.id = a.job_id
WHERE a.ended_at IS NULL AND j.host_id = :host_id

-- name: state_of
SELECT state FROM jobs WHERE id = :job_id

-- name: paused_projects
SELECT p.project FROM pauses p
WHERE EXISTS (
    SELECT 1 FROM jobs j
    WHERE j.host_id = :host_id AND j.state = 'queued' AND (p.project = '' OR p.project = j.project)
)

-- name: rehost
UPDATE jobs SET host_id = :host_id WHERE id = :id AND state = 'queued'

-- name: hold
UPDATE jobs SET held = 1 WHERE id = :job_id AND state = 'queued'

-- name: set_needs
UPDATE jobs SET needs = :needs WHERE id = :job_id
