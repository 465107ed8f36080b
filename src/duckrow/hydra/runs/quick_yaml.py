"""Writes configs as YAML quickly: Hydra writes all of its own settings for each run, and most are the same for all.

A block mapping is the texts of its entries, one after the other. So each entry is written by itself, and the texts of
those that come again are kept.
"""

from __future__ import annotations

import functools
import marshal
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf import __version__ as omegaconf_version
from omegaconf._utils import get_omega_conf_dumper

_KNOWN = "2.3."  # the versions of OmegaConf whose form of YAML we know; others write the usual way
# Mappings whose entries are written one by one: something in them is different for each run.
_OPENED = frozenset({("hydra",), *(("hydra", name) for name in ("job", "overrides", "runtime", "sweep"))})
_usual = OmegaConf.to_yaml
_written: dict[tuple[tuple[str, ...], bytes], str] = {}  # by place, and by key and value
_MOST = 1000  # of these
_WITHOUT_IDENTITIES = 2  # a version of marshal: the same content is always the same bytes


def write_yaml_quickly() -> None:
    """From now on, in this process."""
    if omegaconf_version.startswith(_KNOWN):
        OmegaConf.to_yaml = staticmethod(quick_yaml)  # type: ignore[method-assign]


@functools.wraps(_usual)
def quick_yaml(cfg: Any, *, resolve: bool = False, sort_keys: bool = False) -> str:
    if sort_keys or not OmegaConf.is_dict(cfg):
        return _usual(cfg, resolve=resolve, sort_keys=sort_keys)
    content: Any = OmegaConf.to_container(cfg, resolve=resolve, enum_to_str=True)
    try:
        return _mapping(content, ()) if _has_entries(content) else _usual(cfg, resolve=resolve)
    except ValueError:  # there is something in it that only YAML can write
        return _usual(cfg, resolve=resolve)


def _mapping(content: dict[Any, Any], place: tuple[str, ...]) -> str:
    texts = []
    for key, value in content.items():
        inner = (*place, key)
        if inner in _OPENED and _has_entries(value):
            texts += ["  " * len(place), key, ":\n", _mapping(value, inner)]
        else:
            texts.append(_entry(key, value, place))
    return "".join(texts)


def _entry(key: Any, value: Any, place: tuple[str, ...]) -> str:
    known = place, marshal.dumps((key, value), _WITHOUT_IDENTITIES)  # ValueError: not plain data
    if known not in _written:
        if len(_written) >= _MOST:
            _written.clear()
        content: Any = {key: value}
        for name in reversed(place):
            content = {name: content}
        # In its place: how long lines are broken depends on how far they are indented.
        _written[known] = _dump(content).split("\n", len(place))[-1]
    return _written[known]


def _has_entries(content: Any) -> bool:
    return isinstance(content, dict) and bool(content)


def _dump(content: Any) -> str:
    """As OmegaConf writes."""
    dumper = get_omega_conf_dumper()
    text: str = yaml.dump(content, default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=dumper)
    return text
