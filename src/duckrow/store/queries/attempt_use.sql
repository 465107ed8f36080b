-- What was seen of the memory of an attempt, and of how busy its GPUs were.

-- name: note_use
UPDATE attempts SET peak_memory_mb = nullif(max(coalesce(peak_memory_mb, 0), :peak_mb), 0),
       utilization = coalesce(:utilization, utilization), curve = :curve
WHERE job_id = :job_id AND number = :number

-- name: curve
SELECT curve FROM attempts WHERE job_id = :job_id AND number = :number

-- name: curves
SELECT jobs.needs, attempts.curve FROM attempts JOIN jobs ON jobs.id = attempts.job_id
WHERE attempts.job_id > (SELECT coalesce(max(job_id), 0) FROM attempts) - :latest
  AND attempts.outcome = 'succeeded' AND attempts.curve IS NOT NULL AND jobs.needs IS NOT NULL
ORDER BY attempts.job_id DESC
