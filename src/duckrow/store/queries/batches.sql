-- The batches: which there are, their runs, and what SLURM last said of them.

-- name: add_owner
INSERT INTO hosts (kind, name) VALUES ('batch', :name)

-- name: add
INSERT INTO batches (id, folder, created_at) VALUES (:id, :folder, :at)

-- name: add_run
INSERT INTO batch_runs (job_id, batch_id, number) VALUES (:job_id, :batch_id, :number)

-- name: any
SELECT EXISTS (SELECT 1 FROM batches)

-- name: any_open
SELECT EXISTS (SELECT 1 FROM batches WHERE closed_at IS NULL)

-- name: all
SELECT b.id, h.name, b.folder, b.created_at, b.closed_at FROM batches b JOIN hosts h ON h.id = b.id ORDER BY b.id

-- name: open
SELECT b.id, h.name, b.folder, b.created_at, b.closed_at FROM batches b JOIN hosts h ON h.id = b.id WHERE b.closed_at IS NULL ORDER BY b.id

-- name: latest_closed
SELECT b.id, h.name, b.folder, b.created_at, b.closed_at FROM batches b JOIN hosts h ON h.id = b.id WHERE b.closed_at IS NOT NULL ORDER BY b.id DESC LIMIT 20

-- name: with_ids
SELECT b.id, h.name, b.folder, b.created_at, b.closed_at FROM batches b JOIN hosts h ON h.id = b.id
WHERE b.id IN (SELECT value FROM json_each(:ids)) ORDER BY b.id

-- name: close
UPDATE batches SET closed_at = :at WHERE id = :id

-- name: reopen
UPDATE batches SET closed_at = NULL WHERE id = :id

-- name: forget
DELETE FROM batches WHERE id = :id

-- name: forget_owner
DELETE FROM hosts WHERE id = :id

-- name: last_asked
SELECT value FROM meta WHERE key = :key

-- name: note_asked
INSERT OR REPLACE INTO meta VALUES (:key, :value)

-- name: standings
SELECT id, standing FROM batches WHERE closed_at IS NULL AND standing IS NOT NULL

-- name: note_standing
UPDATE batches SET standing = :standing WHERE id = :id AND standing IS NOT :standing

-- name: runs
SELECT b.number, b.job_id, j.state, j.attempts, j.outcome, j.held, j.priority
FROM batch_runs b JOIN jobs j ON j.id = b.job_id
WHERE b.batch_id = :batch_id

-- name: join
INSERT OR REPLACE INTO batch_runs (job_id, batch_id, number) VALUES (:job_id, :batch_id, :number)

-- name: leave
DELETE FROM batch_runs WHERE job_id = :job_id

-- name: rehost
UPDATE jobs SET host_id = :host_id WHERE id = :job_id

-- name: rehost_waiting
UPDATE jobs SET host_id = :batch_id WHERE id = :job_id AND state = 'queued'

-- name: dependents
SELECT r.batch_id, r.number, j.outcome, j.blockers, j.detail
FROM batch_runs r JOIN batches b ON b.id = r.batch_id JOIN jobs j ON j.id = r.job_id
WHERE b.closed_at IS NULL AND j.id IN (SELECT job_id FROM dependencies)

-- name: of_jobs
SELECT b.job_id, b.batch_id, b.number FROM batch_runs b JOIN json_each(:ids) wanted ON wanted.value = b.job_id
