-- What people ask for.

-- name: insert_job
INSERT INTO jobs ({new_columns}) VALUES ({new_values})

-- name: insert_point
INSERT INTO points (job_id, sweep_id, key, parameters) VALUES (?, ?, ?, ?)

-- name: asked_for
SELECT j.id, j.host_id, j.attempts, {asked_again}, e.variables
FROM jobs j JOIN environments e ON e.id = j.environment_id JOIN json_each(:ids) wanted ON wanted.value = j.id
ORDER BY j.id

-- name: needs_of
SELECT needs FROM jobs WHERE id = :job_id
