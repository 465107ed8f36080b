-- What people want of the daemon's devices.

-- name: device_wishes
SELECT device, wish FROM device_wishes

-- name: wish
INSERT OR REPLACE INTO device_wishes (device, wish, at) VALUES (:device, :wish, :at)

-- name: forget
DELETE FROM device_wishes WHERE device = :device
