-- What recipes have taken at most on each model of GPU, as learned or as a person has said.

-- name: known
SELECT recipe, model, peak_mb, corrected, runs, at FROM peaks

-- name: peaks
SELECT recipe, model, peak_mb, runs, corrected, at FROM peaks ORDER BY recipe, model

-- name: peak
SELECT peak_mb, corrected, runs, at FROM peaks WHERE recipe = :recipe AND model = :model

-- name: learn
INSERT INTO peaks (recipe, model, peak_mb, runs, at) VALUES (:recipe, :model, :peak_mb, :runs, :at)
ON CONFLICT (recipe, model) DO UPDATE SET
    peak_mb = CASE WHEN corrected THEN peak_mb ELSE max(peak_mb, excluded.peak_mb) END,
    runs = runs + excluded.runs, at = excluded.at

-- name: hear
INSERT INTO peaks (recipe, model, peak_mb, runs, corrected, at) VALUES (:recipe, :model, :peak_mb, :runs, :corrected, :at)
ON CONFLICT (recipe, model) DO UPDATE SET
    peak_mb = CASE WHEN peaks.corrected THEN peak_mb ELSE max(peak_mb, excluded.peak_mb) END,
    runs = max(runs, excluded.runs), at = max(at, excluded.at)

-- name: correct
INSERT INTO peaks (recipe, model, peak_mb, runs, corrected, at) VALUES (:recipe, :model, :peak_mb, 0, 1, :at)
ON CONFLICT (recipe, model) DO UPDATE SET peak_mb = excluded.peak_mb, corrected = 1, at = excluded.at

-- name: forget
DELETE FROM peaks WHERE recipe = :recipe AND model = :model
