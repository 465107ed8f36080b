"""NVIDIA's MPS: started for packed jobs, given up if it fails, ended when nobody needs it."""

from __future__ import annotations

from collections.abc import Callable

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import MpsServer, Observer
from duckrow.scheduler.state.host_state import HostState

MOST_CLIENTS = 48
"""How many processes may share one GPU, from the Volta generation on. CUDA refuses more; newer drivers allow 60."""

AUTO, ON = "auto", "on"
"""`auto`: for jobs that are packed. `on`: for every job on a GPU. Otherwise MPS is off."""


class MpsSharing:
    def __init__(
        self,
        state: HostState,
        root: str,
        observer: Observer,
        open_mps: Callable[[str], MpsServer] | None,
    ) -> None:
        """`root`: our state folder, where the pipes of MPS are. `open_mps`: None where there is no MPS."""
        self._state = state
        self._root = root
        self._observer = observer
        self._open_mps = open_mps
        self._mode = state.gpus.machine.policy.mps
        self._mps: MpsServer | None = None

    def variables(self, attempt: LiveAttempt) -> dict[bytes, bytes]:
        """The environment variables for an attempt that may share its GPU."""
        if self._open_mps is None or not self._wants(attempt) or self._state.mps.is_given_up:
            return {}
        if self._mps is None:
            self._start(self._open_mps(self._root))
        if self._mps is None or self._is_full(attempt):
            return {}
        return self._mps.variables

    def _wants(self, attempt: LiveAttempt) -> bool:
        packed = self._mode == ON or (self._mode == AUTO and attempt.job.needs is not None)
        return packed and attempt.has_gpu and self._state.mps.may_use(attempt.job.id)

    def _start(self, mps: MpsServer) -> None:
        all_gpus = sorted({device for seat in self._state.seats if not seat.is_cpu for device in seat.devices})
        why_not = mps.start(all_gpus)
        if why_not:
            self._give_up(why_not)
        else:
            self._mps = mps

    def _give_up(self, why: str) -> None:
        self._state.mps.give_up()
        # A user who did not ask for MPS, and has no GPU that NVIDIA's library knows, need not be told.
        if self._mode == ON or self._state.gpus.devices:
            self._tell(f"MPS cannot be used: {why} Jobs share GPUs without it (--mps off does so from the start).")

    def _is_full(self, attempt: LiveAttempt) -> bool:
        """A GPU has a limited number of MPS clients, and CUDA refuses more: further jobs share the GPU without MPS."""
        for gpu, _ in attempt.holds:
            others = (each for each in self._state.live.values() if each.id != attempt.id and each.follows is None)
            if sum(self._wants(each) and gpu in dict(each.holds) for each in others) >= MOST_CLIENTS:
                self._state.mps.do_without(attempt.job.id)
                self._tell(f"GPU {gpu} has {MOST_CLIENTS} jobs under MPS, which is the limit. More run without it.")
                return True
        return False

    def failed(self, attempt: LiveAttempt, why: str) -> bool:
        """A job failed because of MPS. True if it ran with MPS, and so may succeed without it."""
        if self._mps is None or not self._wants(attempt):
            return False
        too_many = self._state.mps.fail(attempt.job.id)
        if too_many is not None:
            self._give_up(f"{too_many} jobs in a row have failed because of it ({why}).")
        return True

    def succeeded(self, attempt: LiveAttempt) -> None:
        if self._state.mps.failures and self._wants(attempt):
            self._state.mps.succeed()

    def _tell(self, sentence: str) -> None:
        if self._state.told.is_new(sentence):
            self._observer.trouble(sentence)

    def close(self) -> None:
        if self._mps is not None:
            self._mps.end()
