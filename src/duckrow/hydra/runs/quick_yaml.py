"""Writes configs as YAML quickly: Hydra writes all of its own settings for each run, and most are the same for all.

A block mapping is the texts of its entries, one after the other. So each entry is written by itself. The texts of those
that come again are kept, and numbers and plain words, of which most of the others consist, are written without YAML.
"""

from __future__ import annotations

import functools
import marshal
import re
from enum import Enum
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf import __version__ as omegaconf_version
from omegaconf._utils import get_omega_conf_dumper
from omegaconf.nodes import AnyNode, BooleanNode, FloatNode, IntegerNode, StringNode

_KNOWN = "2.3."  # the versions of OmegaConf whose form of YAML we know; others write the usual way
# Mappings whose entries are written one by one: something in them is different for each run.
_OPENED = frozenset({("hydra",), *(("hydra", name) for name in ("job", "overrides", "runtime", "sweep"))})
_usual = OmegaConf.to_yaml
_written: dict[tuple[tuple[str, ...], bytes], str] = {}  # by place, and by key and value
_MOST = 1000  # of these
_VALUES = frozenset((AnyNode, BooleanNode, FloatNode, IntegerNode, StringNode))
_WORD = re.compile(r"(?:\+{0,2}[A-Za-z_]|/)[A-Za-z0-9_./=,+@-]{0,100}", re.ASCII)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
# Words that YAML or OmegaConf would read as something else.
_NOT_WORDS = frozenset("y yes n no true false on off null inf infinity nan +inf +infinity +nan ++inf".split())
_WITHOUT_IDENTITIES = 2  # a version of marshal: the same content is always the same bytes


def write_yaml_quickly() -> None:
    """From now on, in this process."""
    if omegaconf_version.startswith(_KNOWN):
        OmegaConf.to_yaml = staticmethod(quick_yaml)  # type: ignore[method-assign]


@functools.wraps(_usual)
def quick_yaml(cfg: Any, *, resolve: bool = False, sort_keys: bool = False) -> str:
    if sort_keys or not OmegaConf.is_config(cfg):
        return _usual(cfg, resolve=resolve, sort_keys=sort_keys)
    content: Any = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True) if resolve else _plain(cfg)
    try:
        text = _mapping(content, ()) if _has_entries(content) else _list(content, "")
    except ValueError:  # there is something in it that only YAML can write
        text = None
    return _usual(cfg, resolve=resolve) if text is None else text


def _plain(node: Any) -> Any:
    """The same as `OmegaConf.to_container(node, enum_to_str=True)`, which checks each node as if you asked for it."""
    kind = type(node)
    if kind is DictConfig:
        content = node.__dict__["_content"]  # no mapping if it is null, missing or an interpolation
        if type(content) is not dict:
            return content
        return {key.name if isinstance(key, Enum) else key: _plain(value) for key, value in content.items()}
    if kind is ListConfig:
        content = node.__dict__["_content"]
        return [_plain(value) for value in content] if type(content) is list else content
    if OmegaConf.is_config(node):
        return OmegaConf.to_container(node, enum_to_str=True)
    value = node.__dict__["_val"] if kind in _VALUES else node._value()
    return value.name if isinstance(value, Enum) else value


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
    simple = _simple_entry(key, value, "  " * len(place))
    if simple is not None:
        return simple
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


def _simple_entry(key: Any, value: Any, indent: str) -> str | None:
    """None: only YAML knows how to write it."""
    name = _scalar(key) if type(key) is str else None
    if name is None:
        return None
    if type(value) is list:
        items = _list(value, indent)
        return None if items is None else f"{indent}{name}:\n{items}"
    text = _scalar(value)
    return None if text is None else f"{indent}{name}: {text}\n"


def _list(items: Any, indent: str) -> str | None:
    texts = [_scalar(item) for item in items] if type(items) is list else []
    return "".join(f"{indent}- {text}\n" for text in texts) if texts and None not in texts else None


def _scalar(value: Any) -> str | None:
    kind = type(value)
    if kind is str:
        if _WHOLE.fullmatch(value):
            return f"'{value}'"  # so that it stays a text
        return value if _WORD.fullmatch(value) and value.lower() not in _NOT_WORDS else None
    if kind is int:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        text = repr(value)
        return text if _DECIMAL.fullmatch(text) else None
    return "null" if value is None else None


def _has_entries(content: Any) -> bool:
    return isinstance(content, dict) and bool(content)


def _dump(content: Any) -> str:
    """As OmegaConf writes."""
    dumper = get_omega_conf_dumper()
    text: str = yaml.dump(content, default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=dumper)
    return text
