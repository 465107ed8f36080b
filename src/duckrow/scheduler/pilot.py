"""A pilot: the loop as a cluster job. It uses that job's allocation for runs that it takes from a batch's folder.

Scripts that wait in a cluster's queue name this module, so do not move it.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
import time

from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.known import cluster_of
from duckrow.clusters.lease import Lease
from duckrow.clusters.peaks import SharedPeaks
from duckrow.clusters.pilots import TIME_LIMIT, TOLD_TO_END, PilotFolder, read_pilots, started_at
from duckrow.clusters.port import Cluster, JobFacts, OwnJob
from duckrow.clusters.shared_files import is_full, names
from duckrow.core.errors import DuckrowError
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.life.wishes import Wish
from duckrow.core.ports import Observer
from duckrow.devices.allocation import allocated_offer
from duckrow.devices.discover import Offer
from duckrow.engines.local.keeper.keeper import fork_host
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.local_host import local_host
from duckrow.scheduler.pilots.memory import PilotMemory
from duckrow.scheduler.pilots.runs import PilotRuns
from duckrow.scheduler.pilots.share import PilotShare
from duckrow.scheduler.pilots.successors import Successors
from duckrow.scheduler.pilots.time_left import PilotTime
from duckrow.store.folder.state_folder import NETWORK_FILE_SYSTEMS, Folder, file_system_of
from duckrow.store.hosts import HostStore
from duckrow.store.sqlite.database import Database

_PULSE_S = 1.0  # how often to check for wishes, which come from another machine
_HURRY_S = 1.0  # between SIGTERM and SIGKILL, when SLURM is about to kill us
LEASE_LOST = 76  # the exit code of a host that could not renew its lease
_FULL_S = 2.0  # how often to retry when the disk is full
_MARGIN_S = 5.0  # kept free before the limit, for SLURM and for us


class PilotHost(Observer):
    def __init__(
        self,
        cluster: Cluster,
        own_job: OwnJob,
        share: PilotShare,
        us: PilotFolder,
        folder: Folder,
        offer: Offer,
        link: KeeperLink,
    ) -> None:
        self._own_job = own_job
        self.batch = batch = share.batch
        self.share = share
        self.us = us
        self._offer = offer
        database = Database(folder, durable=False, temporary=True)
        host = Host(folder, database, HostStore(database).add_run(us.name, batch.folder, us.name))
        self.loop, self._signals = local_host(database, host, offer, link, self)
        self.loop.never_set_gpus_aside()  # the ends of runs are reported, and others may have acted on them
        claims = Claims(batch)
        chunk = chunk_of(batch, own_job.facts.array_index + first_chunk())
        environment = {**batch.environment(), **os.environ}
        self._time = PilotTime(own_job, _MARGIN_S)
        self._idle = False  # nothing runs here, and there is nothing to take
        self.starts_again = False  # the remaining runs need more time than we have left
        taker = Taker(claims, us.card, chunk, self._fits, share.is_ours)
        self.runs = PilotRuns(cluster, claims, taker, self.loop, environment, us.facts, batch.request.runs_per_job)
        self._successors = Successors(batch, cluster, own_job)
        self.lease = Lease(us.renew, batch.request.lease, self._lost_lease)
        self._by_memory = share.is_by_memory
        # Runs with different numbers of GPUs are taken one by one: a run that waits here could run elsewhere.
        self._mixed = len(share.gpus) > 1
        self._memory = PilotMemory(self.loop, SharedPeaks(batch, us.name)) if self._by_memory else None
        self._kill_at: float | None = None
        self._kill_step = 0
        self._hurry = False
        self._wishes_at = 0.0
        self._began_mono = time.monotonic() + self._first_start_in_s()
        self._first_mono: float | None = None  # when we took our first run
        self._told = ""  # the last problem that we reported

    # -- the life of a pilot ----------------------------------------------------------------------------------

    def go(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._signals.on(number, self._told_to_end)
        self._signals.on(signal.SIGUSR2, self._time_is_short)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.loop.begin()
        self.lease.begin(self._status())
        while not self._over():
            self._turn()
            self._time.ask_once()
            self._tell_of_memory()
            self._look_for_wishes()
            self._kill_if_due()
        if self.runs.interrupted:
            self.runs.write_ends()
            self.runs.give_back_rest()
        self.lease.finish()
        self._say_goodbye()
        self.loop.close()
        if not self.runs.interrupted:
            self._successors.cancel_useless()

    def _turn(self) -> None:
        """Start what we have just taken, and only then write the results of the runs before: that takes time."""
        ended = self.runs.has_ends
        rest_s = _PULSE_S if self._kill_at is None else 0.2
        self.loop.turn(0.0 if ended and not self.runs.cannot_write else rest_s)
        if ended:
            self.runs.write_ends()

    def _say_goodbye(self) -> None:
        too_late = "what is left does not fit into its time" if self.starts_again else ""
        try:
            self.us.renew(self._status())
            self.us.end(self.runs.interrupted or too_late or "nothing left to take")
        except OSError as error:  # the others notice when our lease runs out
            self.trouble(f"Cannot record the end of this pilot: {error.strerror}.")

    def _over(self) -> bool:
        """Take what can be taken. True if nothing runs here and nothing is left."""
        if self.runs.interrupted:
            return not self.loop.state.live
        try:
            return self._nothing_is_left()
        except OSError as error:  # the disk is full: the runs can be taken when there is room
            self.trouble(f"Nothing can be taken from {self.batch.folder}: {error.strerror}. It is retried.")
            return False

    def _nothing_is_left(self) -> bool:
        took = self._take()
        if self.runs.taken:
            self._successors.ask_again()
            self._idle = False
            return False
        if took or (self.runs.may_take and self._is_early()):
            return False
        return not self._is_needed()

    def _take(self) -> bool:
        if not self.runs.may_take:
            return False
        room = self._places() - self.runs.busy
        if room <= 0:
            return False
        if self._memory is not None:
            self._memory.hear()
        took = self.runs.take(room)
        if took:
            self._first_mono = self._first_mono or time.monotonic()
            self.runs.refuse_impossible(self.loop.state.seats, self._offer.machine)
        return took

    def _places(self) -> int:
        """How many runs we may have right now."""
        request = self.share.request
        if request.nodes > 1:
            return 1
        most = request.parallel_runs or len(self.loop.state.seats)
        if self._by_memory or self._mixed:
            waits = self.runs.busy > len(self.loop.state.live)
            most = self.runs.busy + (0 if waits else 1)
            most = min(most, request.parallel_runs or most)
        if request.stagger:
            # Count from the first start: on a busy node it may be late, and the second must not start with it.
            since = self._began_mono if self._first_mono is None else self._first_mono
            open_places = math.floor((time.monotonic() - since) / request.stagger) + 1
            most = min(most, open_places if self._first_mono is not None else min(open_places, 1))
        return most

    def _first_start_in_s(self) -> float:
        """How long our first run waits: with a stagger, our runs start after those of the pilots before us."""
        stagger = self.batch.request.stagger
        if not stagger:
            return 0.0
        index = self._own_job.facts.array_index + first_chunk()
        starts = [started_at(self.batch, pilot) for pilot in read_pilots(self.batch)]
        # The machines share nothing but the wall clock.
        began_s_ago = time.time() - min(starts, default=time.time())
        return index * len(self.loop.state.seats) * stagger - max(began_s_ago, 0.0)

    def _is_early(self) -> bool:
        return time.monotonic() < self._began_mono

    def _is_needed(self) -> bool:
        """Whether runs wait for us although there is nothing to take, or we have taken our share."""
        if not self._idle:
            self._idle = True
            self.lease.tell(self._status())
        left = self._successors.left_over()
        fitting = [run for run in left if self._fits(run)]
        if fitting:
            self.runs.take_on(fitting)
        self.starts_again = bool(left) and not fitting
        return bool(fitting)

    def _fits(self, run: int) -> bool:
        """Whether our allocation and our remaining time are enough for it."""
        return self.share.may_take(run) and self._time.fits(self.batch.runs[run].spec, self.share.time_of(run))

    def has_more(self) -> bool:
        """Whether anything is left that we could take if we had more time."""
        self.runs.claims.look()
        return any(map(self.share.may_take, self.runs.claims.free()))

    # -- what the loop tells ----------------------------------------------------------------------------------

    def started(self, attempt: LiveAttempt) -> None:
        self.lease.tell(self._status())

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        self._tell_of_memory()
        if verdict.outcome is Outcome.SUCCEEDED and attempt.job.id in self.runs.taken:
            self._time.took(self.runs.taken[attempt.job.id].run.spec, at - attempt.started_at)
        self.runs.ended(attempt, verdict, at)
        self.lease.tell(self._status())

    def _tell_of_memory(self) -> None:
        if self._memory is None:
            return
        try:
            self._memory.tell()
        except OSError as error:  # the others will learn it themselves
            self.trouble(f"Cannot pass on what was learned about memory: {error.strerror}.")

    def trouble(self, sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            print(sentence, file=sys.stderr, flush=True)

    def _status(self) -> dict[str, object]:
        about_runs = {"running": self.runs.running(), "taken": self.runs.count}
        about_us = {"places": len(self.loop.state.seats), "idle": self._idle, "group": self.share.group}
        return {**about_runs, **about_us, "leaving": self.runs.interrupted}

    # -- wishes -----------------------------------------------------------------------------------------------

    def _look_for_wishes(self) -> None:
        if time.monotonic() < self._wishes_at:
            return
        self._wishes_at = time.monotonic() + _PULSE_S
        for name in names(self.batch.wishes):
            run, _, wish = name.partition(".")
            if run.isdigit() and self.runs.kill(int(run), at_once=wish == Wish.KILL_NOW):
                os.unlink(f"{self.batch.wishes}/{name}")

    # -- leaving ----------------------------------------------------------------------------------------------

    def _time_is_short(self) -> None:
        """The notice before the time limit: tell the runs, which may continue until shortly before the limit."""
        if self.runs.interrupted:
            return
        notice_s = self.share.request.notice_s
        left_s = self._own_job.time_left_s() or notice_s
        if left_s > notice_s + _MARGIN_S:  # SLURM may be a minute early
            self.loop.reactor.later(left_s - notice_s, self._time_is_short)
            return
        self._leave(TIME_LIMIT)
        grace_s = max((attempt.job.grace_s for attempt in self.loop.state.live.values()), default=0.0)
        self._kill_at = time.monotonic() + max(left_s - grace_s - _MARGIN_S, left_s / 2)
        for attempt in self.loop.state.live.values():
            if attempt.job.notice_signal is not None:
                self.loop.engine.notice(attempt, attempt.job.notice_signal)

    def _told_to_end(self) -> None:
        """`scancel`, preemption or a requeue: SLURM is about to kill us all."""
        if not self._hurry:
            self._hurry = True
            self._leave(TOLD_TO_END)
            self._kill_at = time.monotonic()

    def _leave(self, why: str) -> None:
        self.runs.interrupted = self.runs.interrupted or why
        try:
            self.lease.tell_now(self._status())  # whoever sees what we give back must not count on us to take it again
        except OSError as error:
            self.trouble(f"Cannot record that this pilot leaves: {error.strerror}.")
        self.loop.state.dispatch(False)
        self.loop.state.wake()

    def _kill_if_due(self) -> None:
        if self._kill_at is None or time.monotonic() < self._kill_at or not self.loop.state.live:
            return
        self._kill_step += 1
        self.loop.state.end_all(at_once=self._kill_step > 1)
        self._kill_at = time.monotonic() + (_HURRY_S if self._hurry else 3600.0)

    def _lost_lease(self) -> None:
        """In another thread: nobody can see that we are alive, so others take our runs. They must not run twice."""
        os.write(2, b"The lease could not be renewed: this pilot ends its runs, and itself.\n")
        for attempt in list(self.loop.state.live.values()):
            if attempt.pid is not None:
                try:
                    os.killpg(attempt.pid, signal.SIGKILL)
                except OSError:
                    pass  # it has ended
        os._exit(LEASE_LOST)


def chunk_of(batch: Batch, index: int) -> range | None:
    """With fixed chunks: the runs that only we may take."""
    each = batch.request.runs_per_job
    return range(index * each, (index + 1) * each) if batch.request.fixed_chunks and each else None


def first_chunk() -> int:
    """What to add to the index of an array, which begins with 0."""
    return int(sys.argv[2]) if len(sys.argv) > 2 else 0


def own_folder(batch: Batch, facts: JobFacts) -> PilotFolder:
    """Our folder in the batch. On a full disk, wait for room: if we ended, somebody would have to submit us again."""
    told = False
    while True:
        try:
            return PilotFolder(batch, facts.name, facts.node)
        except OSError as error:
            if not is_full(error):
                sys.exit(f"This pilot cannot write to {batch.folder}: {error.strerror}.")
            if not told:
                print(f"{batch.folder}: {error.strerror}. It is retried.", file=sys.stderr, flush=True)
            told = True
            time.sleep(_FULL_S)


def local_folder(name: str, scratch: str) -> Folder:
    """A new state folder on the node's own disk: the database must not be on a network file system."""
    places = [scratch, os.environ.get("TMPDIR"), "/tmp"]
    usable = [p for p in places if p and os.access(p, os.W_OK) and file_system_of(p) not in NETWORK_FILE_SYSTEMS]
    path = f"{(usable or ['/tmp'])[0]}/duckrow-pilot-{name}-{os.urandom(8).hex()}"
    os.mkdir(path, 0o700)  # must be new: others may write to /tmp
    return Folder(path).make()


def main() -> None:
    gc.freeze()  # all that a pilot needs has been loaded, and stays
    batch = Batch(sys.argv[1])
    cluster = cluster_of(batch.request)
    own_job = cluster.own_job()
    us = own_folder(batch, own_job.facts)
    folder = local_folder(us.name, own_job.facts.scratch)
    share = PilotShare(batch, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    at_a_time = 1 if share.request.nodes > 1 else share.request.parallel_runs
    offer = allocated_offer(at_a_time, share.is_by_memory, share.gpus, own_job.facts.allocation)
    # Create it before the journal: a journal without a database looks like a lost database.
    Database(folder, durable=False, temporary=True).close()

    def in_keeper(code: int, told_to_end: bool) -> None:
        _remove(folder)  # a host that was killed has not
        if not told_to_end:
            _if_killed(code, batch, own_job)

    link = fork_host(folder.keepers, speaks=False, heirless=True, afterwards=in_keeper)
    host = PilotHost(cluster, own_job, share, us, folder, offer, link)
    try:
        host.go()
    finally:
        _remove(folder)
    if host.starts_again or (host.runs.interrupted == TIME_LIMIT and host.has_more()):
        _start_again(own_job)


def _remove(folder: Folder) -> None:
    if os.path.exists(folder.root):
        import shutil  # not needed before

        shutil.rmtree(folder.root, ignore_errors=True)


def _if_killed(code: int, batch: Batch, own_job: OwnJob) -> None:
    """In the keeper: our host was killed, or lost its lease. If it was the last one, nobody would take its runs."""
    if (code > 128 or code == LEASE_LOST) and own_job.facts.restarts < batch.request.max_interruptions:
        _start_again(own_job)


def _start_again(own_job: OwnJob) -> None:
    try:
        own_job.start_again()
    except DuckrowError as error:
        print(f"{error} The next duckrow command replaces this job.", file=sys.stderr)


if __name__ == "__main__":
    main()
