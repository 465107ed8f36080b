"""Opens a `duckrow run`: a new one, or an interrupted one to resume."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from duckrow.core.devices.inventory import shared_anew
from duckrow.core.devices.machine import Machine
from duckrow.core.errors import StateError, UsageError
from duckrow.core.jobs.commands import LAST, ONE_PER_LINE, CommandReader, ListForm
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.run_source import continue_command, is_of_sweep, never_resumed, source_of_sweep
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer, offer_of
from duckrow.engines.local.keeper.keeper import fork_host
from duckrow.store.folder.state_folder import Folder, existing_folder, state_folder
from duckrow.store.hosts import HostRow, HostStore, seats_from
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.scheduler.hosts.foreground import ForegroundRun

__all__ = [
    "HostRow",
    "Offer",
    "OtherDevices",
    "SweepJobs",
    "find_earlier",
    "offer_of",
    "offer_of_earlier",
    "open_run",
    "open_sweep",
    "words_to_resume",
]


class OtherDevices(NamedTuple):
    """What a person chose for a run that is resumed. What they did not choose is as it was before."""

    seats: bool = True  # --devices or --slots: all is as they say now
    policy: Mapping[str, Any] = {}  # its options; None: not chosen
    jobs_per_gpu: int | None = None
    by_memory: bool = False  # jobs ask for memory: their number is a limit, and makes no seats


def open_run(
    offer: Offer,
    observer: Observer,
    make_spec: Callable[[str], JobSpec],
    *,
    chosen: OtherDevices = OtherDevices(),  # noqa: B008
    name: str = "",
    file: str | None = None,
    form: ListForm = ONE_PER_LINE,
    earlier: HostRow | None = None,
    environment: Mapping[str, str],
    output: str = "log",
    max_failures: int | None = None,
    on_event: Callable[[str, Any], None] = lambda *_: None,
    once: bool = False,
) -> ForegroundRun:
    """A run that is ready to go. `output` is that of the engine; on a terminal, the one command is given later.

    `earlier`: the run that is resumed, as found by `find_earlier`. It keeps its devices, except for what you
    chose (`chosen`). `form`: how the list is read, also next time.
    """
    folder = state_folder()
    source = earlier.source if earlier is not None and not file else _source_of(file)
    # Find every mistake before we fork. A resumed run reads standard input only if asked: without its list, all its
    # jobs would seem to be gone.
    reads = output != "terminal" and (bool(source) or earlier is None or file == "-")
    fd = _open_source(source) if reads else None
    if earlier is not None:
        offer = _kept(earlier, folder, chosen) or offer
    kept = never_resumed(source) if once or output == "terminal" else source
    new = (name, os.getcwd(), kept, form)
    run = _forked(folder)(earlier, new, offer, observer, output, make_spec, max_failures, on_event)
    run.loop.state.begin_with(dict(environment))
    if fd is not None:
        run.read(fd, CommandReader(form.delimiter, form.blocks))
    if earlier is not None:
        hosts = HostStore(run.loop.database)
        accept = partial(hosts.note_list, earlier.id, kept, form)
        run.resume(hosts, rerun_all=fd is None, reads_otherwise=form != earlier.form, accept=accept)
    return run


class SweepJobs(NamedTuple):
    """What a sweep has to run here."""

    sweep_id: int
    name: str
    specs: Sequence[JobSpec]  # new
    again: Sequence[int]  # done, and run again
    stranded: Sequence[int]  # waiting for a host that is dead


def open_sweep(
    offer: Offer,
    observer: Observer,
    jobs: SweepJobs,
    *,
    chosen: OtherDevices,
    environment: Mapping[str, str],
    output: str = "log",
    max_failures: int | None = None,
    on_event: Callable[[str, Any], None] = lambda *_: None,
) -> ForegroundRun:
    """The runs of a sweep, ready to go. It continues the run in which the sweep was begun, if that is dead."""
    folder = state_folder()
    earlier = _earlier_of_sweep(folder, jobs.sweep_id)
    if earlier is not None:
        offer = _kept(earlier, folder, chosen) or offer
    new = (f"sweep-{jobs.name}", "", source_of_sweep(jobs.sweep_id), ONE_PER_LINE)
    run = _forked(folder)(earlier, new, offer, observer, output, _no_more_commands, max_failures, on_event)
    try:
        run.take_jobs(jobs.specs, jobs.again, jobs.stranded, environment)
    except StateError:
        run.loop.close()
        raise
    return run


def offer_of_earlier(sweep_id: int, chosen: OtherDevices) -> Offer | None:
    """The devices that a sweep keeps from an earlier run of it here."""
    folder = existing_folder()
    earlier = _earlier_of_sweep(folder, sweep_id)
    return None if earlier is None else _kept(earlier, folder, chosen)


def _kept(earlier: HostRow, folder: Folder, chosen: OtherDevices) -> Offer | None:
    """None: others were chosen, or it ended before it had any."""
    seats = [] if chosen.seats else seats_from(earlier.seats)
    if not seats:
        return None
    machine = _machine_of(earlier, folder)
    policy, most = machine.policy.with_options(chosen.policy), chosen.jobs_per_gpu
    if most is not None and chosen.by_memory:
        policy = policy.but(jobs_per_gpu=most)
    elif most is not None:
        seats = shared_anew(seats, most)
    return Offer(seats, machine._replace(policy=policy))


def _earlier_of_sweep(folder: Folder, sweep_id: int) -> HostRow | None:
    database = Database(folder)
    try:
        return HostStore(database).run_of_file("", source_of_sweep(sweep_id))
    finally:
        database.close()


def _no_more_commands(command: str) -> JobSpec:
    raise AssertionError("a sweep reads no commands")


def _forked(folder: Folder) -> Callable[..., ForegroundRun]:
    """Go on in a new process, and let this one be its keeper. What is returned begins the run there."""
    if not os.path.exists(folder.database):
        Database(folder).close()  # before our journal exists: it would look like that of an earlier queue
    link = fork_host(folder.keepers, speaks=True)
    gc.disable()  # nothing that is loaded is garbage
    # After the fork: the keeper needs none of it and stays small, and the host shares no pages that it must copy.
    from duckrow.scheduler.hosts.run_host import begin_run

    gc.freeze()
    gc.enable()
    return partial(begin_run, link, folder)


def _machine_of(earlier: HostRow, folder: Folder) -> Machine:
    database = Database(folder)
    try:
        return HostStore(database).machine(earlier.id)
    finally:
        database.close()


def find_earlier(resume: str, file: str | None) -> HostRow:
    """The run to resume: by its name, or the last one of this file in this folder."""
    database = Database(state_folder())
    hosts, cwd, source = HostStore(database), os.getcwd(), _source_of(file)
    if resume == LAST:
        found = hosts.run_of_file(cwd, source)
        what = f"of {source or 'standard input'} in {cwd}"
    else:
        found, what = hosts.run_named(resume), f"'{resume}'"
    database.close()
    if found is None or not continue_command(found.name, found.source):
        raise UsageError(f"There is no earlier run {what} to resume. Omit --resume to start one.")
    if is_of_sweep(found.source):
        command = continue_command(found.name, found.source)
        raise UsageError(f"The run {found.name} is a sweep. To continue it: {command}")
    return found


def words_to_resume(run: ForegroundRun, list_file: str | None, cwd: str) -> list[str]:
    """What to type in this folder behind `duckrow run` to resume this run, with the list that it was given now.

    `list_file`: as an absolute path; -: standard input; None: the list that it had.
    """
    hosts = HostStore(run.loop.database)
    row = hosts.get(run.host_id)
    source = row.source if list_file is None else _source_of(list_file)
    if source and source == row.source:
        found = hosts.run_of_file(cwd, source)
        if found is not None and found.id == row.id:
            return ["--resume", os.path.relpath(source, cwd)]
    words = [f"--resume={hosts.handle(row.id, row.name)}"]
    if source != row.source:  # it made no sense, and is not kept
        words.append(os.path.relpath(source, cwd) if source else "-")
    return words


def _source_of(file: str | None) -> str:
    """The path of the list, as kept; empty: standard input."""
    return os.path.abspath(file) if file and file != "-" else ""


def _open_source(source: str) -> int | None:
    """The file of commands, else standard input."""
    if source:
        try:
            return os.open(source, os.O_RDONLY)
        except OSError as error:
            raise UsageError(f"The file {source} cannot be read: {error.strerror}.") from None
    return None if sys.stdin is None else sys.stdin.fileno()
