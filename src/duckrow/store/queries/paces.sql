-- How many jobs of a recipe at a time are worth it on a GPU model.

-- name: known
SELECT recipe, model, together, tried, against, times FROM paces

-- name: learn
INSERT OR REPLACE INTO paces (recipe, model, together, tried, against, times, at)
VALUES (:recipe, :model, :together, :tried, :against, :times, :at)

-- name: forget
DELETE FROM paces WHERE recipe = :recipe AND model = :model
