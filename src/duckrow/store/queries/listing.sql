-- Lists of jobs; what is in braces comes from a filter and an order.

-- name: ids
SELECT j.id FROM jobs j {join} WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset

-- name: few
-- A row for each state or outcome: for each row that Python is given, a thread waits for its turn again.
SELECT status, group_concat(id) FROM (
    SELECT j.id, coalesce(j.outcome, j.state) AS status FROM jobs j WHERE {where} LIMIT :limit
) GROUP BY status

-- name: join_attempts
LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempts

-- name: join_hosts
JOIN hosts h ON h.id = j.host_id

-- name: count
SELECT count(*) FROM jobs j WHERE {where}
