"""A tick that cannot be written does not end the host. Nothing was done: keep the events and read everything again."""

from __future__ import annotations

from duckrow.core.errors import DuckrowError, IllegalTransition, StateError
from duckrow.core.ports import Observer, Reactor
from duckrow.scheduler.life.recovery import Recovery
from duckrow.scheduler.life.wishes import Wishes, WrongWish
from duckrow.scheduler.state.host_state import HostState

_AGAIN_S = 2.0  # how long to wait before trying again when the disk is full or the database cannot be written


class FailedTicks:
    def __init__(
        self, state: HostState, reactor: Reactor, observer: Observer, recovery: Recovery, wishes: Wishes
    ) -> None:
        self._state = state
        self._reactor = reactor
        self._observer = observer
        self._recovery = recovery
        self._wishes = wishes

    def over(self) -> None:
        """A tick was written."""
        if self._state.failures.over():
            self._observer.trouble_over()

    def survive(self, error: DuckrowError) -> None:
        self._state.wake()
        self._state.wishes.look_at_all_again()
        try:
            if self._set_aside(error):
                self._recovery.forget_unwritten()
                return
        except StateError as other:
            error = other
        if self._state.failures.tell():
            self._observer.trouble(str(error))
        self._state.failures.wait(True)
        self._reactor.later(_AGAIN_S, self._try_again)

    def _set_aside(self, error: DuckrowError) -> bool:
        """Whether the host continues at once, without the jobs that were in the way."""
        if isinstance(error, WrongWish):
            self._observer.trouble(str(error))
            self._wishes.forget(error.wish_id)
            return True
        if not isinstance(error, IllegalTransition):
            return False
        times = self._state.failures.count(error.job_id)
        if times == 2:  # the first time, our own copy of its state may have been wrong
            self._state.shun(error.job_id)
            self._observer.trouble(f"Job {error.job_id} is set aside: {error} The others continue.")
        return times <= 2

    def _try_again(self) -> None:
        try:
            self._recovery.forget_unwritten()
            self._state.failures.wait(False)
        except StateError:
            self._reactor.later(_AGAIN_S, self._try_again)
