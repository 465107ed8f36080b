"""The device policy, and the ways in which it is written."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner

from duckrow.cli.options.job_options import device_options, policy_of
from duckrow.core.devices.policy import DISPLAYS, KNOBS, NO_POLICY, Form, Policy
from duckrow.core.errors import UsageError
from duckrow.core.settings import settings_of

TURNED = Policy(
    min_free_gpus=1,
    max_gpus=3,
    prefer=("2", "0"),
    share=True,
    ignore=("Xorg", "blender"),
    margin_mb=512,
    mps="on",
)


def parsed(words: list[str]) -> Policy:
    """What the command line makes of these words."""
    found: list[Policy] = []

    @click.command()
    @device_options
    def verb(**values: Any) -> None:
        found.append(policy_of(values))

    done = CliRunner().invoke(verb, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return found[0]


@pytest.mark.parametrize("policy", [NO_POLICY, TURNED, Policy(only_idle=True), Policy(ignore=())])
def test_the_words_of_a_policy_are_read_as_the_same_policy(policy: Policy) -> None:
    assert parsed(policy.as_options()) == policy


@pytest.mark.parametrize("policy", [NO_POLICY, TURNED, TURNED.but(only_idle=True, jobs_per_gpu=2, fill=True)])
def test_the_json_of_a_policy_is_read_as_the_same_policy(policy: Policy) -> None:
    assert Policy.of_json(json.loads(json.dumps(policy.as_json()))) == policy


def test_every_knob_survives_both_ways() -> None:
    """A knob that is added is written and read like the others, without a line for it anywhere else."""
    samples = {Form.COUNT: 7, Form.NAMES: ("a", "b"), Form.SIZE: 300, Form.FLAG: True, Form.SWITCH: True}
    for name, knob in KNOBS.items():
        turned = NO_POLICY.but(**{name: samples.get(knob.form, knob.words[-1:] and knob.words[-1])})
        assert turned != NO_POLICY
        assert parsed(turned.as_options()) == turned
        assert Policy.of_json(json.loads(json.dumps(turned.as_json()))) == turned


def test_a_policy_that_an_older_version_listed_is_read() -> None:
    listed = [1, 3, ["2", "0"], 2, True, 512, "on", ["Xorg"], True, True]
    policy = Policy(1, 3, ("2", "0"), True, True, ("Xorg",), 512, "on", 2, True)
    assert Policy.of_json(listed) == policy
    assert Policy.of_json(listed[:5]) == Policy(1, 3, ("2", "0"), True, jobs_per_gpu=2)
    assert Policy.of_json([]) == NO_POLICY


def test_what_a_newer_version_wrote_is_read_as_far_as_it_is_known() -> None:
    assert Policy.of_json({"max_gpus": 2, "shy": True}) == Policy(max_gpus=2)


def test_a_knob_that_is_a_setting_is_one_in_the_sections_that_it_names() -> None:
    for knob in KNOBS.values():
        for section in ("run", "daemon"):
            assert (knob.option in settings_of(section)) == (section in knob.settings)


def test_idle_gpus_only_and_sharing_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="Either --only-idle-gpus"):
        Policy.of_options({"only_idle_gpus": True, "share_gpus": True})


def test_what_is_not_given_is_as_by_default() -> None:
    assert Policy.of_options({}) == NO_POLICY
    assert NO_POLICY.ignore == DISPLAYS
    assert Policy.of_options({"ignore_processes": ""}).ignore == ()


def test_every_field_without_a_knob_is_one_of_those_that_have_another_way_in() -> None:
    assert {*Policy._fields} - KNOBS.keys() == {"jobs_per_gpu", "fill"}
