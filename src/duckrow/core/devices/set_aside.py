"""A GPU that is set aside because something is wrong with it."""

from __future__ import annotations

from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.devices.gpu_suspicion import Suspect


class SetAside(NamedTuple):
    """It gets no new job."""

    device: str
    why: str
    boot_id: str  # of the machine when it was set aside
    suspect: Suspect | None = None  # None: it is certain
    passes: bool = False  # a reading without a fault means that it is over
    wanted_back: bool = False  # by a person
