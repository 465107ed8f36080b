-- Jobs that wait for a host: the head of the queue, and what is left of it.

-- name: eligible
SELECT {queued_job} FROM jobs j
WHERE {ready} AND host_id = :host_id
  AND project NOT IN (SELECT project FROM pauses)
  AND 'project:' || project NOT IN (SELECT value FROM json_each(:full))
  AND (array_id IS NULL OR 'array:' || array_id NOT IN (SELECT value FROM json_each(:full)))
ORDER BY priority DESC, position
LIMIT :limit

-- name: is_paused
SELECT EXISTS (SELECT 1 FROM pauses WHERE project = '')

-- name: is_unfinished
SELECT EXISTS (SELECT 1 FROM jobs WHERE host_id = :host_id AND state <> 'done')

-- name: unfinished
SELECT id, state FROM jobs WHERE host_id = :host_id AND state <> 'done'

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
