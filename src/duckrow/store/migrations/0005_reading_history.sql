-- The GPUs over time, for plots: a row in ten seconds of the last hour, one in two minutes of two days.

CREATE TABLE reading_history (
    slot INTEGER NOT NULL,         -- which ten seconds since 1970: whoever reads first writes it
    device TEXT NOT NULL,
    at REAL NOT NULL,
    used_mb INTEGER NOT NULL,
    utilization INTEGER,           -- percent
    temperature INTEGER,           -- degrees Celsius
    lasting INTEGER NOT NULL,      -- the one of its two minutes that is kept after an hour
    PRIMARY KEY (slot, device)
) WITHOUT ROWID;
CREATE INDEX reading_history_passing ON reading_history (slot) WHERE lasting = 0;
