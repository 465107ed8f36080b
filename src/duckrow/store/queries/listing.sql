-- Lists of jobs; what is in braces comes from a filter and an order.

-- name: ids
SELECT j.id FROM jobs j {join} WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset

-- name: few
SELECT j.id, coalesce(j.outcome, j.state) FROM jobs j WHERE {where} LIMIT :limit

-- name: join_attempts
LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempts

-- name: join_hosts
JOIN hosts h ON h.id = j.host_id

-- name: count
SELECT count(*) FROM jobs j WHERE {where}
