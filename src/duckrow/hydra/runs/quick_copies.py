"""Copies configs quickly: Hydra copies the config of a run four times, which takes a third of the time that it needs.

The copies are the same as those that OmegaConf makes. It makes an empty node, which it checks like a user's, and lets
`copy` look through all its attributes; here the attributes are copied one by one.
"""

from __future__ import annotations

import copy
import sys
from collections import defaultdict
from typing import Any

from hydra import __version__ as hydra_version
from hydra.core.utils import run_job
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf import __version__ as omegaconf_version
from omegaconf.nodes import AnyNode, BooleanNode, EnumNode, FloatNode, IntegerNode, StringNode

_KNOWN = "2.3."  # the versions of OmegaConf whose internals we know; others copy the usual way
_RUN_JOB = run_job.__code__ if hydra_version.startswith("1.3.") else None  # others get what they ask for
_CONTAINERS = (DictConfig, ListConfig)
_VALUES = (AnyNode, BooleanNode, EnumNode, FloatNode, IntegerNode, StringNode)
_LEAVES = frozenset(_VALUES)
_new = object.__new__


def copy_quickly() -> None:
    """From now on, in this process."""
    if omegaconf_version.startswith(_KNOWN):
        for kind in _CONTAINERS + _VALUES:
            if kind.__deepcopy__.__module__ != __name__:
                kind.__deepcopy__ = _instead_of(kind, kind.__deepcopy__)  # type: ignore[method-assign]
        OmegaConf.masked_copy = staticmethod(masked_copy)  # type: ignore[method-assign]


def quick_copy(config: DictConfig) -> DictConfig:
    """A copy as `copy.deepcopy` makes it."""
    if omegaconf_version.startswith(_KNOWN) and type(config) is DictConfig:
        made: DictConfig = copied(config, {})
        return made
    return copy.deepcopy(config)


_usual_masked_copy = OmegaConf.masked_copy


def masked_copy(conf: Any, keys: str | list[str]) -> DictConfig:
    """A config with some parts of another: Hydra keeps its own part this way."""
    parts = [keys] if isinstance(keys, str) else keys
    content = conf.__dict__["_content"] if type(conf) is DictConfig else None
    if type(content) is not dict or any(type(content.get(key)) is not DictConfig for key in parts):
        return _usual_masked_copy(conf, keys)
    take = _same if _copies_again(content, sys._getframe(2).f_code) else copied
    made = DictConfig({})
    for key in parts:
        part = made.__dict__["_content"][key] = take(content[key], {})
        part._set_parent(made)
        part._set_key(key)
    return made


def _copies_again(content: dict[str, Any], caller: Any) -> bool:
    """Whether this copy is only there until the folder of the run is known: then Hydra sets it, and makes another."""
    if caller is not _RUN_JOB or "hydra" not in content:
        return False
    output_dir = content["hydra"]._get_node("runtime")._get_node("output_dir")
    return output_dir is not None and output_dir._is_missing()


def _same(node: Any, memo: dict[int, Any]) -> Any:
    return node


def _instead_of(kind: type, usual: Any) -> Any:
    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if type(self) is not kind:
            return usual(self, memo)
        # By way of `copy.deepcopy`. It drops Hydra's part next, which is larger than most people's own.
        if _has_more_than_hydra(self) and sys._getframe(2).f_code is _RUN_JOB:
            return _with_empty_hydra(self, memo)
        return copied(self, memo)

    return __deepcopy__


def _has_more_than_hydra(node: Any) -> bool:
    content = node.__dict__.get("_content")
    return type(content) is dict and len(content) > 1 and type(content.get("hydra")) is DictConfig


def _with_empty_hydra(config: Any, memo: dict[int, Any]) -> Any:
    hydra = _copied_node(config.__dict__["_content"]["hydra"], memo)
    hydra.__dict__["_content"] = {}
    memo[id(config.__dict__["_content"]["hydra"])] = hydra
    return copied(config, memo)


def copied(node: Any, memo: dict[int, Any]) -> Any:
    """The same as `copy.deepcopy(node, memo)`. Its parent stays the same, and the values of leaves are shared."""
    made = _copied_node(node, memo)
    attributes = made.__dict__
    kind = type(node)
    if kind not in _CONTAINERS:
        return made
    content = attributes["_content"]
    if kind is DictConfig and type(content) is dict:
        attributes["_content"] = {key: _child(value, made, memo) for key, value in content.items()}
    elif kind is ListConfig and type(content) is list:
        attributes["_content"] = [_child(value, made, memo) for value in content]
    return made


def _child(node: Any, parent: Any, memo: dict[int, Any]) -> Any:
    made = memo.get(id(node))
    if made is None:
        kind = type(node)
        if kind in _LEAVES:
            made = memo[id(node)] = _copied_node(node, memo)
        elif kind in _CONTAINERS:
            made = memo[id(node)] = copied(node, memo)
        else:
            made = _usual_copy(node, memo)
    made.__dict__["_parent"] = parent
    return made


def _copied_node(node: Any, memo: dict[int, Any]) -> Any:
    """Without its content. Types and keys never change, so copies share them. All at once: calls take half the time."""
    made = _new(type(node))
    attributes = made.__dict__
    attributes.update(node.__dict__)
    metadata = attributes["_metadata"]
    copied_metadata = attributes["_metadata"] = _new(type(metadata))
    facts = copied_metadata.__dict__
    facts.update(metadata.__dict__)
    if facts["flags"] is not None:
        facts["flags"] = dict(facts["flags"])
    cache = facts["resolver_cache"]
    facts["resolver_cache"] = copy.deepcopy(cache, memo) if cache else defaultdict(dict)
    flags = attributes["_flags_cache"]
    if flags is not None:
        attributes["_flags_cache"] = dict(flags) if "_content" in attributes else None
    return made


def _usual_copy(node: Any, memo: dict[int, Any]) -> Any:
    """Without its parent, which would be copied too."""
    parent, node.__dict__["_parent"] = node.__dict__["_parent"], None
    try:
        return copy.deepcopy(node, memo)
    finally:
        node.__dict__["_parent"] = parent
