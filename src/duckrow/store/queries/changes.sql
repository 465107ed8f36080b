-- Whether anything has changed since somebody looked.

-- name: readings
SELECT max(at) FROM readings

-- name: live
SELECT job_id, number, pid FROM attempts WHERE ended_at IS NULL
UNION ALL SELECT -1, seq, NULL FROM sqlite_sequence WHERE name = 'jobs'
UNION ALL SELECT -2, id, NULL FROM wishes
UNION ALL SELECT -3, count(*), NULL FROM pauses
UNION ALL SELECT -4, count(*), NULL FROM device_wishes
UNION ALL SELECT -5, count(*), total(wanted_back) FROM set_aside
