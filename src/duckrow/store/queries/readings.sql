-- The GPUs as the hosts have last read them.

-- name: looked_at_until
SELECT value FROM meta WHERE key = 'looked at until'

-- name: look_until
INSERT OR REPLACE INTO meta (key, value) VALUES ('looked at until', :until)

-- name: readings
SELECT device, at, reading FROM readings

-- name: keep
INSERT OR REPLACE INTO readings (device, at, reading) VALUES (:device, :at, :reading)

-- name: forget_all
DELETE FROM readings
