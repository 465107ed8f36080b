-- What attempts hold of devices, and of the machine.

-- name: foreign_holds
SELECT holds FROM live_here WHERE host_id <> :host_id

-- name: foreign_needs
SELECT j.needs FROM live_here a JOIN jobs j ON j.id = a.job_id
WHERE a.host_id <> :host_id AND j.needs IS NOT NULL

-- name: set_holds
UPDATE attempts SET holds = :holds WHERE job_id = :job_id AND number = :number

-- name: owe
INSERT OR REPLACE INTO meta (key, value) VALUES ('owed to job ' || :job_id, :share)

-- name: owed
SELECT value FROM meta WHERE key = 'owed to job ' || :job_id

-- name: paid
DELETE FROM meta WHERE key = 'owed to job ' || :job_id
