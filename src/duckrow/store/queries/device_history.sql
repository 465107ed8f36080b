-- The GPUs over time.

-- name: note
INSERT OR IGNORE INTO reading_history (slot, device, at, used_mb, utilization, temperature, lasting)
VALUES (:slot, :device, :at, :used_mb, :utilization, :temperature, :lasting)

-- name: thin_out
DELETE FROM reading_history WHERE lasting = 0 AND slot < :slot

-- name: forget
DELETE FROM reading_history WHERE slot < :slot

-- name: since
SELECT device, at, used_mb, utilization, temperature FROM reading_history WHERE slot >= :slot ORDER BY slot, device
