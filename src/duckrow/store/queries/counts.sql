-- How many jobs there are. What is in braces comes from a filter.

-- name: tally
SELECT coalesce(j.outcome, j.state) AS status, count(*) AS jobs FROM jobs j WHERE {where} GROUP BY 1

-- name: counts
-- Without reading those that wait or are done: how many there are, how many of them are done, and those in between. One
-- statement, so that all numbers are of the same moment.
SELECT project, outcome AS status, jobs FROM job_counts WHERE jobs <> 0
UNION ALL
SELECT j.project, j.state, count(*) FROM jobs j
WHERE j.id IN (SELECT job_id FROM attempts WHERE ended_at IS NULL) AND j.state NOT IN ('queued', 'done')
GROUP BY j.project, j.state
