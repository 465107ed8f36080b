"""The hosts: who runs the scheduling loop, and how to wake them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Sequence

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import Seat
from duckrow.core.named_tuple import NamedTuple
from duckrow.kernel.process import boot_id, has_ended, identity_of, our_pid_space, space_in
from duckrow.store.folder.host_lock import is_alive, remove, try_lock, unlock
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

__all__ = ["DAEMON", "HostRow", "HostStore", "is_alive", "remove", "ring", "seats_from", "try_lock", "unlock"]

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.devices.machine import Machine
    from duckrow.core.jobs.commands import ListForm

_SQL = load_queries("hosts")

DAEMON = 1
"""The id of the daemon's row, whichever process the daemon is."""

_SERVES, _SETTLES = "daemon", "settling"  # kinds of that row


class HostRow(NamedTuple):
    id: int
    kind: str
    name: str
    cwd: str
    source: str
    seats: str
    pid: int | None
    process: str  # the unique name of that process; empty: an older duckrow's
    boot_id: str
    started_at: float | None
    ended_at: float | None
    list_form: str  # how its list is read, as stored

    @property
    def chosen_name(self) -> str:
        """Empty: nobody named it."""
        return "" if self.name == _default_name(self.id) else self.name

    @property
    def form(self) -> ListForm:
        from duckrow.core.jobs.commands import ListForm  # a listing reads no list

        return ListForm(**json.loads(self.list_form))

    @property
    def list_file(self) -> str:
        """Whose commands it runs; empty: none."""
        from duckrow.core.jobs.run_source import list_file_in  # few ask

        return list_file_in(self.source)

    @property
    def is_open(self) -> bool:
        """It has begun, and has not ended in good order."""
        return self.started_at is not None and self.ended_at is None

    @property
    def was_killed(self) -> bool:
        """Its process is gone, so whoever is this host now has not begun. One in another container cannot be seen."""
        return self.is_open and space_in(self.process) == our_pid_space() and has_ended(self.process)

    @property
    def settles(self) -> bool:
        """It only does what people want of jobs in place of a daemon. It starts none, and then ends."""
        return self.kind == _SETTLES


class HostStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def add_run(self, name: str, cwd: str, source: str, form: ListForm | None = None) -> int:
        values = {"name": name, "cwd": to_sql(cwd), "source": to_sql(source), "list_form": _form_text(form)}
        with self.database.transaction():
            cursor = self.database.execute(_SQL["add_host"], values)
            assert cursor.lastrowid is not None
            if not name:
                self.database.execute(
                    _SQL["name_host"], {"id": cursor.lastrowid, "name": _default_name(cursor.lastrowid)}
                )
            return cursor.lastrowid

    def open(self, host_id: int, seats: Sequence[Seat], machine: Machine) -> None:
        with self.database.transaction():
            self.note_machine(host_id, machine)
            self.database.execute(
                _SQL["open_host"],
                {
                    "id": host_id,
                    "pid": os.getpid(),
                    "process": identity_of(os.getpid()),
                    "boot_id": boot_id(),
                    "at": time.time(),
                    "seats": json.dumps(list(seats)),
                },
            )

    def note_list(self, host_id: int, source: str, form: ListForm) -> None:
        """Where its list is from now on, and how it is read."""
        values = {"id": host_id, "source": to_sql(source), "list_form": _form_text(form)}
        with self.database.transaction():
            self.database.execute(_SQL["note_list"], values)

    def note_settling(self, settles: bool) -> None:
        """Whether the process that is the daemon now only settles what people want of jobs."""
        with self.database.transaction():
            self.database.execute(_SQL["note_kind"], {"id": DAEMON, "kind": _SETTLES if settles else _SERVES})

    def note_machine(self, host_id: int, machine: Machine) -> None:
        """Within the caller's transaction: what is known about the host's GPUs besides their seats."""
        known = {**machine._asdict(), "policy": machine.policy.as_json()}
        self.database.execute(_SQL["note_machine"], {"id": host_id, "machine": json.dumps(known)})

    def machine(self, host_id: int) -> Machine:
        from duckrow.core.devices.machine import Machine  # a listing needs nothing about GPU memory
        from duckrow.core.devices.policy import Policy

        known = json.loads(self.database.one(_SQL["machine"], {"id": host_id}) or "{}")
        values = {name: known[name] for name in Machine._fields if name in known}
        return Machine(**{**values, "policy": Policy.of_json(known.get("policy", {}))})

    def change_seats(self, host_id: int, seats: Sequence[Seat]) -> None:
        """Within the caller's transaction."""
        self.database.execute(_SQL["change_seats"], {"id": host_id, "seats": json.dumps(list(seats))})

    def restate_start(self, host_id: int, step_s: float) -> None:
        """Within the caller's transaction. The wall clock was set: record when it started by the clock as it is now."""
        self.database.execute(_SQL["restate_start"], {"id": host_id, "step_s": step_s})

    def close(self, host_id: int) -> None:
        with self.database.transaction():
            self._close(host_id)

    def close_if_all_is_seen(self, host_id: int) -> bool:
        """Unless somebody else has written since we last asked. Whoever writes after that sees that it has ended."""
        with self.database.transaction():
            is_all_seen = not self.database.changed_by_others()
            if is_all_seen:
                self._close(host_id)
        return is_all_seen

    def _close(self, host_id: int) -> None:
        self.database.execute(_SQL["close_host"], {"id": host_id, "at": time.time()})

    def get(self, host_id: int) -> HostRow:
        return _row(self.database.all(_SQL["host"], {"id": host_id})[0])

    def find(self, host_id: int) -> HostRow | None:
        """None: its jobs are runs of a batch."""
        rows = self.database.all(_SQL["host"], {"id": host_id})
        return _row(rows[0]) if rows else None

    def all(self) -> list[HostRow]:
        return [_row(row) for row in self.database.all(_SQL["all_hosts"])]

    def open_hosts(self) -> list[HostRow]:
        """Those that have not ended properly: alive, or dead by accident."""
        return [_row(row) for row in self.database.all(_SQL["open_hosts"])]

    def run_named(self, name: str) -> HostRow | None:
        rows = self.database.all(_SQL["run_named"], {"name": name})
        return _row(rows[0]) if rows else None

    def handle(self, run_id: int, name: str) -> str:
        """What finds this run: its name, or its number if a newer run has the same name."""
        found = self.run_named(name)
        return name if found is not None and found.id == run_id else str(run_id)

    def run_of_file(self, cwd: str, source: str) -> HostRow | None:
        rows = self.database.all(_SQL["run_of_file"], {"cwd": to_sql(cwd), "source": to_sql(source)})
        return _row(rows[0]) if rows else None

    def runs_among(self, ids: Collection[int]) -> set[int]:
        """Which of these owners of jobs are a `duckrow run`; without ids nothing is queried."""
        rows = self.database.all(_SQL["runs_among"], {"ids": json.dumps(list(ids))}) if ids else []
        return {row["id"] for row in rows}

    def jobs_of(self, host_id: int) -> list[tuple[int, str, str, str | None]]:
        """(id, command, state, outcome) of each job of a host, oldest first."""
        rows = self.database.all(_SQL["jobs_of_host"], {"host_id": host_id})
        return [(row["id"], from_sql(row["command"]), row["state"], row["outcome"]) for row in rows]


def _default_name(run_id: int) -> str:
    return f"run-{run_id}"


def _row(row: Sequence[object]) -> HostRow:
    return HostRow._make(from_sql(value) if isinstance(value, bytes) else value for value in row)


def _form_text(form: ListForm | None) -> str:
    if form is None:
        return "{}"
    return json.dumps({key: value for key, value in form._asdict().items() if value != form._field_defaults[key]})


def seats_from(text: str) -> list[Seat]:
    return [Seat(reservations(holds), side) for holds, side in json.loads(text)]


def ring(folder: Folder, host_id: int) -> None:
    """Wake a host: there is something new for it in the database. It does not matter if nobody is listening."""
    try:
        fd = os.open(folder.host_fifo(host_id), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(fd, b"!")
    except OSError:
        pass  # it has not heard the earlier rings yet, and one is enough; or it has just ended
    finally:
        os.close(fd)


def kept_devices(database: Database) -> str | None:
    """The devices that were chosen for the daemon, as JSON."""
    kept: str | None = database.one(_SQL["kept_devices"])
    return kept


def keep_devices(database: Database, choice: str) -> None:
    """Within the caller's transaction."""
    database.execute(_SQL["keep_devices"], {"choice": choice})
