-- Jobs that wait for other jobs.

-- name: any_dependencies
SELECT EXISTS (SELECT 1 FROM dependencies WHERE NOT met)

-- name: all_dependencies
SELECT job_id, on_job_id FROM dependencies

-- name: add_dependency
INSERT OR REPLACE INTO dependencies (job_id, on_job_id, condition, met) VALUES (:job_id, :on_job_id, :condition, 0)

-- name: dependents
SELECT d.job_id, d.condition, j.state, j.if_broken FROM dependencies d JOIN jobs j ON j.id = d.job_id
WHERE d.on_job_id = :job_id AND NOT d.met

-- name: meet_dependency
UPDATE dependencies SET met = 1 WHERE job_id = :job_id AND on_job_id = :on_job_id

-- name: unblock
UPDATE jobs SET blockers = blockers - 1 WHERE id = :job_id

-- name: skipped_dependents
SELECT d.job_id FROM dependencies d JOIN jobs j ON j.id = d.job_id
WHERE d.on_job_id = :job_id AND j.outcome = 'skipped'

-- name: skipped_behind
WITH RECURSIVE behind (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT d.job_id FROM behind b JOIN dependencies d ON d.on_job_id = b.id JOIN jobs j ON j.id = d.job_id
    WHERE j.outcome = 'skipped'
)
SELECT id FROM behind WHERE id NOT IN (SELECT value FROM json_each(:ids)) ORDER BY id

-- name: unmeet_dependency
UPDATE dependencies SET met = 0 WHERE job_id = :job_id AND on_job_id = :on_job_id

-- name: count_blockers
UPDATE jobs SET blockers = (SELECT count(*) FROM dependencies d WHERE d.job_id = jobs.id AND NOT d.met)
WHERE id = :job_id
