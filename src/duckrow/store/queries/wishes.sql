-- What people want of jobs, until it is fulfilled.

-- name: unfulfilled
SELECT w.id, w.job_id, w.wish, j.host_id FROM wishes w JOIN jobs j ON j.id = w.job_id
WHERE w.id > :after AND w.wish NOT GLOB 'suspended:*' ORDER BY w.id LIMIT :most

-- name: forget
DELETE FROM wishes WHERE id IN (SELECT value FROM json_each(:ids))

-- name: forget_settled
DELETE FROM wishes WHERE id IN (SELECT value FROM json_each(:ids))
  AND (SELECT state FROM jobs WHERE jobs.id = wishes.job_id) IN ('queued', 'done')
