-- What is removed when jobs are forgotten.

-- name: folders_of
SELECT j.id, j.project, j.name, j.folder FROM jobs j JOIN json_each(:ids) wanted ON wanted.value = j.id

-- name: unneeded_jobs
SELECT j.id FROM jobs j JOIN hosts h ON h.id = j.host_id
WHERE j.id > :after AND j.state = 'done' AND j.changed_at < :before
  AND j.host_id NOT IN (SELECT id FROM batches)
  AND (h.kind <> 'run' OR h.id NOT IN (SELECT host_id FROM jobs WHERE state <> 'done'))
  AND NOT EXISTS (SELECT 1 FROM points p WHERE p.job_id = j.id)
ORDER BY j.id LIMIT :limit

-- name: newest_job
SELECT max(id) FROM jobs

-- name: unused_environments
SELECT id FROM environments
WHERE id < (SELECT max(id) FROM environments) AND id NOT IN (SELECT environment_id FROM jobs)

-- name: forget_environments
DELETE FROM environments
WHERE id IN (SELECT value FROM json_each(:ids))
  AND id NOT IN (SELECT environment_id FROM jobs WHERE id > :newest_job)
