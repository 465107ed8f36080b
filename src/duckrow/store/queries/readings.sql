-- What the hosts have seen of the GPUs, for people: the last readings, and what jobs have taken.

-- name: looked_at_until
SELECT value FROM meta WHERE key = 'looked at until'

-- name: look_until
INSERT OR REPLACE INTO meta (key, value) VALUES ('looked at until', :until)

-- name: readings
SELECT device, at, reading FROM readings

-- name: peaks
SELECT recipe, model, peak_mb, runs, corrected, at FROM peaks ORDER BY recipe, model

-- name: correct
INSERT INTO peaks (recipe, model, peak_mb, runs, corrected, at) VALUES (:recipe, :model, :peak_mb, 0, 1, :at)
ON CONFLICT (recipe, model) DO UPDATE SET peak_mb = excluded.peak_mb, corrected = 1, at = excluded.at

-- name: hear
INSERT INTO peaks (recipe, model, peak_mb, runs, corrected, at) VALUES (:recipe, :model, :peak_mb, :runs, :corrected, :at)
ON CONFLICT (recipe, model) DO UPDATE SET
    peak_mb = CASE WHEN peaks.corrected THEN peak_mb ELSE max(peak_mb, excluded.peak_mb) END,
    runs = max(runs, excluded.runs)

-- name: forget
DELETE FROM peaks WHERE recipe = :recipe AND model = :model
