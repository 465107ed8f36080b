-- Events that are not moves: something worth knowing of an attempt that goes on.

-- name: note_once
INSERT INTO events (job_id, number, at, before, after, outcome, attempt, detail)
SELECT :job_id, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE job_id = :job_id),
       :at, :state, :state, NULL, :number, :detail
WHERE NOT EXISTS (
    SELECT 1 FROM events WHERE job_id = :job_id AND attempt = :number AND before = after
      AND detail NOT IN ('suspended', 'resumed') AND detail NOT GLOB 'signal *'
)

-- name: set_detail
UPDATE jobs SET detail = :detail WHERE id = :job_id AND state = :state

-- name: note
INSERT INTO events (job_id, number, at, before, after, outcome, attempt, detail)
SELECT :job_id, (SELECT coalesce(max(number), 0) + 1 FROM events WHERE job_id = :job_id),
       :at, :state, :state, NULL, :number, :detail
