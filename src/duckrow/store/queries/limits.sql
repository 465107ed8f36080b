-- How many jobs of a scope may run at a time.

-- name: limits
SELECT scope, max_running FROM limits ORDER BY scope

-- name: set
INSERT OR REPLACE INTO limits (scope, max_running) VALUES (:scope, :max_running)

-- name: clear
DELETE FROM limits WHERE scope = :scope
