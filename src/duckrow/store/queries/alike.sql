-- Many jobs at once. What is in braces comes from the columns of a job.

-- name: insert
INSERT INTO jobs ({columns}) SELECT {values} FROM json_each(:own) own
