-- What attempts hold of devices, and of the machine.

-- name: foreign_holds
SELECT a.holds FROM attempts a JOIN hosts h ON h.id = a.host_id
WHERE a.ended_at IS NULL AND a.host_id <> :host_id AND h.kind <> 'slurm'

-- name: foreign_needs
SELECT j.needs FROM attempts a JOIN jobs j ON j.id = a.job_id JOIN hosts h ON h.id = a.host_id
WHERE a.ended_at IS NULL AND a.host_id <> :host_id AND j.needs IS NOT NULL AND h.kind <> 'slurm'

-- name: set_holds
UPDATE attempts SET holds = :holds WHERE job_id = :job_id AND number = :number
