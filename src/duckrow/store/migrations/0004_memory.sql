-- Memory: what jobs ask for, what they have really taken, and what has been learned from it.

ALTER TABLE jobs ADD COLUMN needs TEXT;          -- JSON: memory of the GPUs, cores and memory of the machine; null: none
ALTER TABLE hosts ADD COLUMN machine TEXT NOT NULL DEFAULT '{}'; -- JSON: memory of its GPUs, politeness, cores
ALTER TABLE attempts ADD COLUMN utilization REAL; -- mean share of the time in which its GPUs were busy, in percent
ALTER TABLE attempts ADD COLUMN curve TEXT;      -- JSON: [[seconds since its start, MB, percent], ...], thinned out

-- What a recipe has taken at most on a GPU of this model.
CREATE TABLE peaks (
    recipe TEXT NOT NULL,
    model TEXT NOT NULL,
    peak_mb INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    corrected INTEGER NOT NULL DEFAULT 0, -- a person has said so: observation does not change it
    at REAL NOT NULL,
    PRIMARY KEY (recipe, model)
) WITHOUT ROWID;

-- The devices as their library last described them: JSON, for whoever looks.
CREATE TABLE readings (
    device TEXT PRIMARY KEY,
    at REAL NOT NULL,
    reading TEXT NOT NULL
) WITHOUT ROWID;
