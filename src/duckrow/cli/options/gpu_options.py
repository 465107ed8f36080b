"""`--gpus N` is how many GPUs a job needs, `--devices 0,1` which to use; if you mix them up, duckrow says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from duckrow.cli.options.option_groups import GroupedCommand
from duckrow.core.devices.inventory import looks_like_devices
from duckrow.core.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

_HOW_MANY = "--gpus says how many GPUs each job needs."


class GpuCount(click.ParamType[int]):
    """A number of 1 or more."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if text.isdecimal() and int(text) > 0:
            return int(text)
        gives_out = ctx is not None and any("--devices" in each.opts for each in ctx.command.params)
        which = "" if gives_out else "duckrow up "
        if text.isdecimal():
            raise UsageError(f"{_HOW_MANY} For a job without a GPU: --cpu. For GPU number 0: {which}--devices 0.")
        if text and looks_like_devices(text):
            raise UsageError(f"{_HOW_MANY} To choose which GPUs to use: {which}--devices {text}.")
        raise UsageError(f"{_HOW_MANY} '{text}' is not a number. Write --gpus 2.")


def gpu_count_options(what: str = "each job gets") -> Callable[[Function], Function]:
    """`--gpus` and `--cpu`; `gpu_count` makes one number of them."""

    def add(function: Function) -> Function:
        cpu = click.option("--cpu", "without_gpu", is_flag=True, help="Use a CPU slot and no GPU.")
        gpus = click.option("--gpus", type=GpuCount(), help=f"How many GPUs {what}.  [default: one device]")
        return gpus(cpu(function))

    return add


def gpu_count(values: dict[str, Any]) -> int | None:
    """Take both options out of a verb's arguments: 0 means no GPU, None means one device of any kind."""
    gpus: int | None = values.pop("gpus")
    if not values.pop("without_gpu"):
        return gpus
    if gpus is not None:
        raise UsageError(f"Either --gpus {gpus} or --cpu, not both.")
    return 0


class DeviceCommand(GroupedCommand):
    """A verb whose `--devices` takes all following words that look like devices: `--devices 0 1 2 file`.

    The words after `--` are kept in `ctx.meta["duckrow.command"]`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["duckrow.command"] = args[at + 1 :]
            args = args[:at]
        _refuse_list_of_gpus(args)
        return super().parse_args(ctx, fold_devices(args))


def fold_devices(args: Sequence[str]) -> list[str]:
    """Give each device of `--devices 0 1 2` its own `--devices`."""
    folded: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        folded.append(word)
        if word == "--devices" and rest:
            folded.append(rest.pop(0))
        if word == "--devices" or word.startswith("--devices="):
            while rest and looks_like_devices(rest[0]):
                folded += ["--devices", rest.pop(0)]
    return folded


def _refuse_list_of_gpus(args: Sequence[str]) -> None:
    """`--gpus 0 1 2 file` was meant to name GPUs: the numbers after the first are not files."""
    for at, word in enumerate(args[:-1]):
        if word != "--gpus":
            continue
        named = [args[at + 1]]
        for further in args[at + 2 :]:
            if not further or not looks_like_devices(further) or os.path.exists(further):
                break
            named.append(further)
        if len(named) > 1:
            raise UsageError(f"{_HOW_MANY} To choose which GPUs to use: --devices {' '.join(named)}.")
