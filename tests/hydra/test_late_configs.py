"""A job return that comes from a run: Hydra's, but its configs are read only if somebody asks for them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from duckrow.hydra.runs.late_configs import LateConfigs, with_late_configs


class Counted:
    """A value of a config that tells how often it was read."""

    read = 0

    def __setstate__(self, state: Any) -> None:
        type(self).read += 1


@pytest.fixture
def original(monkeypatch: pytest.MonkeyPatch) -> JobReturn:
    monkeypatch.setattr(Counted, "read", 0)
    config = OmegaConf.create({"a": 1, "b": "${a}"}, flags={"allow_objects": True})
    config.counted = Counted()
    config.counted.x = 1
    returned = JobReturn(["a=1"], config, OmegaConf.create({"hydra": {"job": {"num": 3}}}), "/there", "app")
    returned.status, returned.return_value = JobStatus.COMPLETED, 0.5
    return returned


def sent(returned: JobReturn) -> LateConfigs:
    return passed_on(with_late_configs(returned))


def passed_on(returned: LateConfigs) -> LateConfigs:
    received: LateConfigs = pickle.loads(pickle.dumps(returned))
    return received


def test_it_has_everything_that_the_original_has(original: JobReturn) -> None:
    received = sent(original)
    assert isinstance(received, JobReturn)
    for name in ("overrides", "hydra_cfg", "working_dir", "task_name", "status", "return_value"):
        assert getattr(received, name) == getattr(original, name)
    assert received.cfg.b == 1
    assert received.cfg.keys() == original.cfg.keys()  # type: ignore[union-attr]
    assert original.cfg is not None  # and has kept it


def test_configs_are_read_once_and_only_if_somebody_asks(original: JobReturn) -> None:
    received = sent(original)
    assert (received.return_value, received.overrides, Counted.read) == (0.5, ["a=1"], 0)
    assert received.cfg is received.cfg
    assert Counted.read == 1


def test_it_can_be_sent_on_copied_and_changed(original: JobReturn) -> None:
    received = sent(original)
    for again in (passed_on(received), copy.deepcopy(received), dataclasses.replace(received)):
        assert again.hydra_cfg.hydra.job.num == 3
    received.cfg = None
    assert (received.cfg, received.hydra_cfg.hydra.job.num) == (None, 3)
    assert passed_on(received).cfg is None
