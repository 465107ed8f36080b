-- Who is who: a PID with its start time, boot and PID namespace names a process for good.

ALTER TABLE hosts ADD COLUMN process TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN process TEXT NOT NULL DEFAULT ''; -- set when it was seen running
