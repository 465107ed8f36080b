-- Jobs that are suspended while they run.

-- name: begin
-- A standing wish: it stays until the job continues or ends.
INSERT INTO wishes (job_id, wish, at) VALUES (:job_id, :wish, :at)

-- name: end
DELETE FROM wishes WHERE job_id = :job_id AND wish GLOB 'suspended:*'

-- name: restart_limit
UPDATE attempts SET started_mono = :started_mono WHERE job_id = :job_id AND number = :number
