-- Sweeps and their points.

-- name: add
INSERT INTO sweeps (project, name, root, pattern, created_at) VALUES (:project, :name, :root, :pattern, :at)

-- name: at_place
SELECT id, project, name, root, pattern, created_at FROM sweeps
WHERE root = :root AND project = :project AND name = :name

-- name: like_pattern
SELECT id, project, name, root, pattern, created_at FROM sweeps
WHERE root = :root AND project = :project AND pattern = :pattern ORDER BY id DESC LIMIT 1

-- name: named
SELECT id, project, name, root, pattern, created_at FROM sweeps
WHERE name = :name OR CAST(id AS TEXT) = :name ORDER BY id DESC LIMIT 1

-- name: forget_empty
DELETE FROM sweeps WHERE id = :id AND NOT EXISTS (SELECT 1 FROM points WHERE sweep_id = :id)

-- name: all
SELECT s.id, s.project, s.name, s.root, s.pattern, s.created_at,
       count(p.job_id) AS runs, coalesce(sum(j.outcome = 'succeeded'), 0) AS succeeded,
       coalesce(sum(j.state = 'done' AND j.outcome NOT IN ('succeeded', 'skipped')), 0) AS failed
FROM sweeps s LEFT JOIN points p ON p.sweep_id = s.id LEFT JOIN jobs j ON j.id = p.job_id
GROUP BY s.id ORDER BY s.id

-- name: points
SELECT p.job_id, p.key, j.state, j.outcome, j.host_id, j.folder, j.cwd
FROM points p JOIN jobs j ON j.id = p.job_id WHERE p.sweep_id = :sweep_id ORDER BY p.job_id
