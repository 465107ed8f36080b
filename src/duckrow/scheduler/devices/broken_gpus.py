"""GPUs that are broken, or look so: they get no new job, and the jobs that failed because of them are requeued."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.gpu_faults import Fault, healthy
from duckrow.core.devices.gpu_suspicion import Blame, Effect, Failure, Suspect, effect_of
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome, State
from duckrow.core.ports import Observer, Reading
from duckrow.core.schedule.placement import refusal
from duckrow.core.units import plural
from duckrow.scheduler.life.delays import Delays
from duckrow.scheduler.life.lining_up import LiningUp
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.hosts import DAEMON
from duckrow.store.life.reruns import RerunStore


class BrokenGpus:
    def __init__(
        self,
        state: HostState,
        store: SetAsideStore,
        reruns: RerunStore,
        boot_id: str,
        observer: Observer,
        ask_of: Callable[[QueuedJob], Ask],
        lining_up: LiningUp,
        delays: Delays,
    ) -> None:
        self._state = state
        self._rows = store
        self._reruns = reruns
        self._boot_id = boot_id
        self._observer = observer
        self._ask_of = ask_of
        self._lining_up = lining_up
        self._delays = delays
        self._trust = state.trust
        self.on_back: Callable[[int], None] = lambda _: None  # a job that had failed is queued again

    # -- what is kept -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A daemon keeps GPUs set aside that an earlier one set aside. A restart of the machine clears that."""
        offered = {device for seat in self._state.seats for device in seat.devices}
        for gpu in self._rows.of_host(self._state.host_id):
            same_boot = self._state.host_id == DAEMON and gpu.boot_id == self._boot_id
            if same_boot and gpu.device in offered and not gpu.wanted_back:
                self._state.set_gpu_aside(gpu)
                self._trust.try_elsewhere(gpu.suspect.tried if gpu.suspect else ())
                self._observer.trouble(f"GPU {gpu.device} is still set aside: {gpu.why}.")
            else:
                self._rows.forget(self._state.host_id, gpu.device)

    def look(self, now: Now) -> None:
        """The database has changed: a person may want a GPU back, or may have killed or removed jobs that test one."""
        kept = {gpu.device: gpu for gpu in self._rows.of_host(self._state.host_id)} if self._trust.aside else {}
        for device, gpu in list(self._trust.aside.items()):
            if device not in kept:
                self._rows.save(self._state.host_id, gpu)  # the tick that set it aside could not be written
            elif kept[device].wanted_back or not self._state.offers(device):
                self._trust.forgive(device)
                self._give_out(device)
            elif gpu.suspect is not None:
                self._look_at_tests(device, gpu.suspect, now)

    def _look_at_tests(self, device: str, suspect: Suspect, now: Now) -> None:
        ends = self._rows.ends(suspect.open)
        for job_id in list(suspect.open):
            state, outcome = ends.get(job_id, (State.DONE, None))
            if state == State.DONE:
                effect = Effect.GOOD if outcome == Outcome.SUCCEEDED else Effect.NONE
                self._settle(device, suspect.note(job_id, effect, again=False), f"job {job_id} then succeeded", now)

    # -- what readings say ------------------------------------------------------------------------------------

    def read(self, readings: Sequence[Reading], now: Now) -> None:
        """Called in the tick's transaction."""
        if not self._state.sets_aside:
            return
        ours = set(self._state.gpus.watched)
        readings = [reading for reading in readings if reading.device in ours]
        faults = self._trust.faults.note(readings)
        for device, fault in faults.items():
            self._note_fault(device, fault, now)
        well = healthy(readings, faults)
        self._trust.unexplained.seen(well, min((reading.mono for reading in readings), default=0.0))
        for device in well & self._trust.aside.keys():
            if self._trust.aside[device].passes:
                self._trust.note_return(device)
                self._give_out(device)
                self._observer.trouble(f"GPU {device} is used again: it has recovered.")

    def _note_fault(self, device: str, fault: Fault, now: Now) -> None:
        before = self._trust.aside.get(device)
        if before is not None and before.suspect is None:
            return
        failures = [*self._trust.streaks.take(device), *self._trust.unexplained.take(device)]
        failures += before.suspect.rest() if before is not None and before.suspect is not None else []
        passes = fault.passes and self._trust.may_return(device)
        self._set_aside(SetAside(device, fault.why, self._boot_id, passes=passes), now)
        self._tell(f"GPU {device} is set aside: {fault.why}. Jobs that fail on it are requeued.", device)
        self._send_back(device, failures, now)

    # -- what ends say ----------------------------------------------------------------------------------------

    def judge(self, attempt: LiveAttempt, verdict: Verdict, ran_s: float, now: Now) -> Verdict:
        """An attempt has ended: decide what happens to its job if its GPU may be to blame."""
        gpus = attempt.gpus
        if not gpus or not self._state.sets_aside or attempt.job_host_id != self._state.host_id:
            return verdict
        effect = self._effect(attempt, verdict, ran_s)
        failure = Failure(attempt.job.id, attempt.number, attempt.job.retries_used)
        if effect in (Effect.BAD, Effect.FAIR):
            for gpu in (self._trust.aside[gpu] for gpu in gpus if gpu in self._trust.aside):
                if gpu.suspect is None:
                    return _back(verdict, gpu)
                gpu.suspect.add(failure)
                self._rows.save(self._state.host_id, gpu)
            if self._state.gpus.watched:
                self._trust.unexplained.note(gpus, failure, now.mono)
        self._note_test(failure.job_id, gpus, effect, verdict, now)
        if effect is Effect.BAD and not self._may_count(attempt, gpus):
            effect = Effect.NONE
        for device in self._trust.streaks.note([gpu for gpu in gpus if gpu not in self._trust.aside], failure, effect):
            verdict = self._suspect(device, attempt, verdict, now)
        return verdict

    def _effect(self, attempt: LiveAttempt, verdict: Verdict, ran_s: float) -> Effect:
        """A job that is requeued for another reason (exit 75, MPS, out of memory) says nothing about the GPU."""
        explained = attempt.stopped_for is not None or (verdict.again and not verdict.uses_retry)
        return effect_of(verdict.outcome, attempt.exit_code, attempt.signal, ran_s, explained)

    def _may_count(self, attempt: LiveAttempt, gpus: Sequence[str]) -> bool:
        """A job that could run nowhere else cannot show whose fault it is. One that was sent elsewhere has shown it."""
        if self._trust.was_tried(attempt.job.id):
            return False
        elsewhere = [
            seat for seat in self._state.not_set_aside(self._state.seats) if set(gpus).isdisjoint(seat.devices)
        ]
        return refusal(self._ask_of(attempt.job), elsewhere, self._state.gpus.machine) is None

    def _suspect(self, device: str, attempt: LiveAttempt, verdict: Verdict, now: Now) -> Verdict:
        """Set it aside, and try some of the jobs that failed there on other GPUs."""
        failures = self._trust.streaks.take(device)
        suspect = Suspect.of(failures)
        why = f"{plural(len(failures), 'job')} in a row failed on it within seconds, while others succeed elsewhere"
        gpu = SetAside(device, why, self._boot_id, suspect)
        self._set_aside(gpu, now)
        here = attempt.job.id in suspect.open
        tests = [each for each in failures if each.job_id in suspect.open and each.job_id != attempt.job.id]
        suspect.wait_for([*self._send_back(device, tests, now), *([attempt.job.id] if here else ())])
        if not suspect.open:  # they were removed, or already run again: there is no way to find out
            self._give_out(device)
            return verdict
        self._trust.try_elsewhere(suspect.open)
        self._rows.save(self._state.host_id, gpu)
        self._tell(f"GPU {device} is set aside: {why}. Some of those jobs are retried on other GPUs.", device)
        return _back(verdict, gpu) if here else verdict

    def _note_test(self, job_id: int, gpus: Sequence[str], effect: Effect, verdict: Verdict, now: Now) -> None:
        """A job has ended that was retried to show whose fault it was."""
        again = verdict.again and not verdict.uses_retry
        for device, gpu in list(self._trust.aside.items()):
            if gpu.suspect is not None and job_id in gpu.suspect.open and device not in gpus:
                told = f"job {job_id} then succeeded on GPU {','.join(gpus)}"
                self._settle(device, gpu.suspect.note(job_id, effect, again), told, now)

    def _settle(self, device: str, blame: Blame | None, told: str, now: Now) -> None:
        gpu = self._trust.aside.get(device)
        if gpu is None or gpu.suspect is None:
            return
        if blame is Blame.JOBS:
            self._trust.streaks.was_innocent(device)
            self._give_out(device)
            self._observer.trouble(
                f"GPU {device} is used again: jobs that failed on it within seconds fail elsewhere too."
            )
        elif blame is Blame.GPU:
            count = plural(len(gpu.suspect.failures), "job")
            why = f"{count} in a row failed on it within seconds, and {told}"
            self._set_aside(SetAside(device, why, self._boot_id), now)
            self._tell(f"GPU {device} stays set aside: {why}. All jobs that failed on it are requeued.", device)
            self._trust.try_elsewhere(self._send_back(device, gpu.suspect.rest(), now))
        else:
            self._rows.save(self._state.host_id, gpu)

    # -- what follows -----------------------------------------------------------------------------------------

    def _set_aside(self, gpu: SetAside, now: Now) -> None:
        self._state.set_gpu_aside(gpu)
        self._rows.save(self._state.host_id, gpu)
        self._lining_up.stand_back(now)  # no lined-up job may start on it

    def _give_out(self, device: str) -> None:
        self._state.give_gpu_out(device)
        self._rows.forget(self._state.host_id, device)

    def _tell(self, sentence: str, device: str) -> None:
        left = self._state.not_set_aside([seat for seat in self._state.seats if not seat.is_cpu])
        none = "" if left else " No GPU is left, so jobs that need one wait."
        self._observer.trouble(f"{sentence}{none} To use it again: duckrow gpus add {device}")

    def _send_back(self, device: str, failures: Iterable[Failure], now: Now) -> list[int]:
        """Requeue these, except jobs that were removed or have run again since. Returns those that are queued."""
        detail = _detail(self._trust.aside[device])
        sent: dict[int, None] = {}
        for job_id, number, retries_used in failures:
            was = self._reruns.go_back(job_id, number, self._state.host_id, retries_used, now.wall, detail)
            if was is None:
                continue
            sent[job_id] = None
            if was is State.DONE:
                self._state.note_back(job_id)
                self.on_back(job_id)
        if sent:
            self._delays.requeued(0.0, now)
        return list(sent)


def _back(verdict: Verdict, gpu: SetAside) -> Verdict:
    return Verdict(verdict.outcome, again=True, detail=_detail(gpu))


def _detail(gpu: SetAside) -> str:
    return f"it failed on GPU {gpu.device}, which is set aside: {gpu.why}; it is requeued"
