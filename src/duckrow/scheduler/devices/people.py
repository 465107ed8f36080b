"""Finds out who owns the processes on the GPUs that are not our jobs."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from duckrow.core.devices.machine import MPS_SERVERS
from duckrow.core.devices.neighbours import Person
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.attribution import ANOTHER_DUCKROW, STRANGER
from duckrow.kernel.process import LONGEST_NAME, program_of, uid_of, user_name


def ignored_among(owners: Mapping[int, int], policy: Policy) -> set[int]:
    """Processes of others that do not make a GPU count as used."""
    names = {name[:LONGEST_NAME] for name in (*policy.ignore, *MPS_SERVERS)}
    return {pid for pid, owner in owners.items() if owner == STRANGER and program_of(pid) in names}


def people_behind(owners: Mapping[int, int], ignored: Collection[int]) -> dict[int, Person]:
    """The person for each process outside this duckrow. Jobs of another duckrow belong to somebody too."""
    outside = [pid for pid, owner in owners.items() if owner in (STRANGER, ANOTHER_DUCKROW) and pid not in ignored]
    return {pid: person for pid in outside if (person := _person(pid)) is not None}


def _person(pid: int) -> Person | None:
    """None: it has ended."""
    uid = uid_of(pid)
    return None if uid is None else Person(user_name(uid), program_of(pid), uid == os.geteuid())
