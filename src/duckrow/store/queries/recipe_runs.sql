-- What single runs of a recipe have taken on a model of GPU, by what they were called with.

-- name: latest
SELECT parameters, peak_mb, runs FROM recipe_runs WHERE recipe = :recipe AND model = :model
ORDER BY at DESC, parameters LIMIT :most

-- name: learn
INSERT INTO recipe_runs (recipe, model, parameters, peak_mb, runs, at)
VALUES (:recipe, :model, :parameters, :peak_mb, :runs, :at)
ON CONFLICT (recipe, model, parameters) DO UPDATE SET
    peak_mb = max(peak_mb, excluded.peak_mb), runs = runs + excluded.runs, at = excluded.at

-- name: hear
INSERT INTO recipe_runs (recipe, model, parameters, peak_mb, runs, at)
VALUES (:recipe, :model, :parameters, :peak_mb, :runs, :at)
ON CONFLICT (recipe, model, parameters) DO UPDATE SET
    peak_mb = max(peak_mb, excluded.peak_mb), runs = max(runs, excluded.runs), at = excluded.at

-- name: forget_old
DELETE FROM recipe_runs WHERE recipe = :recipe AND model = :model AND parameters NOT IN (
    SELECT parameters FROM recipe_runs WHERE recipe = :recipe AND model = :model
    ORDER BY at DESC, parameters LIMIT :most
)

-- name: forget
DELETE FROM recipe_runs WHERE recipe = :recipe AND model = :model
