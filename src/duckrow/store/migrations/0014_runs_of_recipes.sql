-- What single runs of a recipe have taken, by what they were called with. Bounded: the oldest of a recipe are forgotten.
CREATE TABLE recipe_runs (
    recipe TEXT NOT NULL,
    model TEXT NOT NULL,           -- of the GPU
    parameters TEXT NOT NULL,      -- JSON: what the command was called with
    peak_mb INTEGER NOT NULL,      -- the most of all that were called so
    runs INTEGER NOT NULL,
    at REAL NOT NULL,              -- of the last one
    PRIMARY KEY (recipe, model, parameters)
) WITHOUT ROWID;

-- A recipe is the script by its path, wherever it is called from: it was the folder, the words of the command up to the
-- script, and then perhaps parameters. What is known of the script is what was known of all these: the most, or what a
-- person has said.
CREATE TABLE old_scripts AS
WITH parts AS (
    SELECT recipe, model, peak_mb, runs, corrected, at, substr(recipe, 1, instr(recipe, ': ') - 1) AS folder,
        substr(recipe, instr(recipe, ': ') + 2) || ' ' AS words
    FROM peaks WHERE typeof(recipe) = 'text' AND instr(recipe, ': ') > 0
), called AS (
    SELECT *, CASE
        WHEN words GLOB 'python *' THEN substr(words, 8) WHEN words GLOB 'python3 *' THEN substr(words, 9)
        WHEN words GLOB 'bash *' THEN substr(words, 6) WHEN words GLOB 'sh *' THEN substr(words, 4) ELSE words
    END AS arguments FROM parts
), scripts AS (
    SELECT *, substr(arguments, 1, instr(arguments, ' ') - 1) AS script FROM called
)
SELECT recipe AS old, model, peak_mb, runs, corrected, at,
    CASE WHEN script GLOB '/*' THEN script WHEN script GLOB './*' THEN folder || substr(script, 2)
    ELSE folder || '/' || script END AS recipe
FROM scripts WHERE script GLOB '?*.py' OR script GLOB '?*.sh';

DELETE FROM peaks WHERE recipe IN (SELECT old FROM old_scripts);
INSERT OR REPLACE INTO peaks (recipe, model, peak_mb, runs, corrected, at)
SELECT recipe, model, coalesce(max(CASE WHEN corrected THEN peak_mb END), max(peak_mb)), sum(runs), max(corrected), max(at)
FROM old_scripts GROUP BY recipe, model;
DROP TABLE old_scripts;

-- How many jobs of a recipe at a time are worth it on a GPU model.
CREATE TABLE paces (
    recipe TEXT NOT NULL,
    model TEXT NOT NULL,           -- of the GPU
    together INTEGER NOT NULL,     -- more at a time did not help
    tried INTEGER NOT NULL,        -- the most at a time of which that is known
    against INTEGER NOT NULL,      -- the fewest at a time that were seen
    times REAL NOT NULL,           -- as many runs in the same time as those
    at REAL NOT NULL,
    PRIMARY KEY (recipe, model)
) WITHOUT ROWID;
