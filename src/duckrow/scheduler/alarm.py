"""Wakes the loop at a moment of a clock, also if the machine sleeps then, and when somebody sets the wall clock.

The timers of the reactor stop while the machine sleeps, and do not follow the wall clock.
"""

from __future__ import annotations

import ctypes
import math
import os
import time

_CLOEXEC, _NONBLOCK = os.O_CLOEXEC, os.O_NONBLOCK
_ABSOLUTE, _CANCEL_ON_SET = 1, 2
_FAR_S = 2**33  # later than any job: for an alarm that only tells when the clock is set


class _Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("interval", _Timespec), ("value", _Timespec)]


class KernelAlarm:
    """Its file becomes readable at the given moment. On the wall clock, also when somebody sets that clock."""

    def __init__(self, clock: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._flags = _ABSOLUTE | (_CANCEL_ON_SET if clock == time.CLOCK_REALTIME else 0)
        self._set_for: float | None = None
        self.fd = self._checked(self._libc.timerfd_create(clock, _CLOEXEC | _NONBLOCK))
        self.set_for(None)

    def set_for(self, moment: float | None) -> None:
        """None: no moment; the alarm still tells when the clock is set."""
        moment = _FAR_S if moment is None else moment
        if moment == self._set_for:
            return
        # Rounded up: on waking, the moment must have come. And 0 would switch it off.
        value = _Timespec(max(math.floor(moment), 0), min(math.ceil(moment % 1 * 1e9) + 1, 999_999_999))
        spec = _Itimerspec(_Timespec(0, 0), value)
        self._checked(self._libc.timerfd_settime(self.fd, self._flags, ctypes.byref(spec), None))
        self._set_for = moment

    def hush(self) -> None:
        """The alarm has rung, and must be set again."""
        self._set_for = None
        try:
            os.read(self.fd, 8)
        except OSError:
            pass  # somebody set the clock (ECANCELED)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    def close(self) -> None:
        os.close(self.fd)
