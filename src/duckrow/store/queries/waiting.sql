-- The jobs that wait, read by the indexes that have the queue of each host in order: jobs_eligible and jobs_not_ready.

-- name: hosts
-- From one host to the next in each index, however many jobs wait for it.
WITH RECURSIVE
    of_ready(host_id) AS (
        SELECT min(host_id) FROM jobs WHERE {ready}
        UNION ALL
        SELECT (SELECT min(j.host_id) FROM jobs j WHERE {ready} AND j.host_id > of_ready.host_id) FROM of_ready
        WHERE of_ready.host_id IS NOT NULL
    ),
    of_not_ready(host_id) AS (
        SELECT min(host_id) FROM jobs WHERE {not_ready}
        UNION ALL
        SELECT (SELECT min(j.host_id) FROM jobs j WHERE {not_ready} AND j.host_id > of_not_ready.host_id) FROM of_not_ready
        WHERE of_not_ready.host_id IS NOT NULL
    )
SELECT h.id, h.kind, h.name, h.source FROM hosts h
WHERE h.id IN (SELECT host_id FROM of_ready) OR h.id IN (SELECT host_id FROM of_not_ready)
ORDER BY h.id

-- name: count
SELECT (SELECT count(*) FROM jobs WHERE {ready} AND host_id IN (SELECT value FROM json_each(:hosts)))
     + (SELECT count(*) FROM jobs WHERE {not_ready} AND host_id IN (SELECT value FROM json_each(:hosts)))

-- name: unheld
SELECT CASE WHEN EXISTS (SELECT 1 FROM jobs WHERE {ready} AND host_id = :host_id) THEN 1
    ELSE EXISTS (SELECT 1 FROM jobs WHERE {not_ready} AND host_id = :host_id AND held = 0)
END

-- name: ready_of_host
SELECT j.id, j.priority, j.position FROM jobs j WHERE {ready} AND j.host_id = {host_id}

-- name: not_ready_of_host
SELECT j.id, j.priority, j.position FROM jobs j WHERE {not_ready} AND j.host_id = {host_id}

-- name: queue_of_host
SELECT j.id, j.project, j.name, j.gpus, j.priority, j.command, j.cwd, j.needs, s.name AS sweep
FROM jobs j LEFT JOIN points p ON p.job_id = j.id LEFT JOIN sweeps s ON s.id = p.sweep_id
WHERE {ready} AND j.host_id = :host_id
  AND j.project NOT IN (SELECT project FROM pauses)
ORDER BY j.priority DESC, j.position
LIMIT :limit
