-- GPUs that are set aside because something is wrong with them.

-- name: of_host
SELECT device, why, boot_id, suspicion, passes, wanted_back FROM set_aside WHERE host_id = :host_id ORDER BY device

-- name: save
INSERT INTO set_aside (host_id, device, why, at, boot_id, suspicion, passes)
VALUES (:host_id, :device, :why, :at, :boot_id, :suspicion, :passes)
ON CONFLICT (host_id, device) DO UPDATE SET why = excluded.why, suspicion = excluded.suspicion, passes = excluded.passes

-- name: forget
DELETE FROM set_aside WHERE host_id = :host_id AND device = :device

-- name: want_back
UPDATE set_aside SET wanted_back = 1 WHERE host_id = :host_id AND device = :device

-- name: ends
SELECT id, state, outcome FROM jobs WHERE id IN (SELECT value FROM json_each(:ids))
