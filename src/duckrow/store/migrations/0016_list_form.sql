-- How a run reads its list, so that it is read in the same way when the run is resumed.
ALTER TABLE hosts ADD COLUMN list_form TEXT NOT NULL DEFAULT '{}'; -- JSON: what differs from a command per line
