-- The order of jobs that wait.

-- name: queues_of
SELECT id, host_id, priority FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'queued'

-- name: place_of
SELECT host_id, priority, position FROM jobs WHERE id = :id AND state = 'queued'

-- name: first_position
SELECT min(position) FROM jobs WHERE host_id = :host_id AND state = 'queued' AND priority = :priority

-- name: last_position
SELECT max(position) FROM jobs WHERE host_id = :host_id AND state = 'queued' AND priority = :priority

-- name: position_before
SELECT max(position) FROM jobs
WHERE host_id = :host_id AND state = 'queued' AND priority = :priority AND position < :position
  AND id NOT IN (SELECT value FROM json_each(:moved))

-- name: set_position
UPDATE jobs SET position = :position, priority = :priority WHERE id = :id AND state = 'queued'
