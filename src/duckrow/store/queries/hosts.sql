-- The hosts: who runs the loop, over which seats, and since when.

-- name: add_host
INSERT INTO hosts (kind, name, cwd, source, list_form) VALUES ('run', :name, :cwd, :source, :list_form)

-- name: name_host
UPDATE hosts SET name = :name WHERE id = :id

-- name: open_host
UPDATE hosts SET pid = :pid, process = :process, boot_id = :boot_id, started_at = :at, ended_at = NULL, seats = :seats WHERE id = :id

-- name: note_kind
UPDATE hosts SET kind = :kind WHERE id = :id

-- name: note_list
UPDATE hosts SET source = :source, list_form = :list_form
WHERE id = :id AND (source <> :source OR list_form <> :list_form)

-- name: note_machine
UPDATE hosts SET machine = :machine WHERE id = :id

-- name: machine
SELECT machine FROM hosts WHERE id = :id

-- name: change_seats
UPDATE hosts SET seats = :seats WHERE id = :id

-- name: restate_start
UPDATE hosts SET started_at = started_at + :step_s WHERE id = :id

-- name: close_host
UPDATE hosts SET ended_at = :at WHERE id = :id

-- name: all_hosts
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at, list_form FROM hosts
WHERE id NOT IN (SELECT id FROM batches)

-- name: host
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at, list_form FROM hosts
WHERE id = :id AND id NOT IN (SELECT id FROM batches)

-- name: open_hosts
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at, list_form FROM hosts
WHERE started_at IS NOT NULL AND ended_at IS NULL

-- name: run_named
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at, list_form FROM hosts
WHERE kind = 'run' AND (name = :name OR CAST(id AS TEXT) = :name) ORDER BY id DESC LIMIT 1

-- name: run_of_file
-- The newest that has jobs: one whose lines were all refused has nothing to continue.
SELECT id, kind, name, cwd, source, seats, pid, process, boot_id, started_at, ended_at, list_form FROM hosts
WHERE kind = 'run' AND cwd = :cwd AND source = :source
ORDER BY EXISTS (SELECT 1 FROM jobs WHERE host_id = hosts.id) DESC, id DESC LIMIT 1

-- name: runs_among
SELECT id FROM hosts WHERE kind = 'run' AND id IN (SELECT value FROM json_each(:ids))

-- name: jobs_of_host
SELECT id, command, state, outcome FROM jobs WHERE host_id = :host_id ORDER BY id

-- name: kept_devices
SELECT value FROM meta WHERE key = 'daemon devices'

-- name: keep_devices
INSERT OR REPLACE INTO meta VALUES ('daemon devices', :choice)
