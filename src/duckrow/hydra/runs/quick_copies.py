"""Copies configs quickly: Hydra copies the config of a run four times, which takes a third of the time that it needs.

The copies are the same as those that OmegaConf makes. It makes an empty node, which it checks like a user's, and lets
`copy` look through all its attributes; here the attributes are copied one by one.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

from omegaconf import DictConfig, ListConfig
from omegaconf import __version__ as omegaconf_version
from omegaconf.nodes import AnyNode, BooleanNode, FloatNode, IntegerNode, StringNode

_KNOWN = "2.3."  # the versions of OmegaConf whose internals we know; others copy the usual way
_CONTAINERS = (DictConfig, ListConfig)
_VALUES = (AnyNode, BooleanNode, FloatNode, IntegerNode, StringNode)
_QUICK = frozenset((*_CONTAINERS, *_VALUES))


def copy_quickly() -> None:
    """From now on, in this process."""
    if omegaconf_version.startswith(_KNOWN):
        for kind in _CONTAINERS + _VALUES:
            if kind.__deepcopy__.__module__ != __name__:
                kind.__deepcopy__ = _instead_of(kind, kind.__deepcopy__)  # type: ignore[method-assign]


def quick_copy(config: DictConfig) -> DictConfig:
    """A copy as `copy.deepcopy` makes it."""
    if omegaconf_version.startswith(_KNOWN) and type(config) is DictConfig:
        made: DictConfig = copied(config, {})
        return made
    return copy.deepcopy(config)


def _instead_of(kind: type, usual: Any) -> Any:
    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        return copied(self, memo) if type(self) is kind else usual(self, memo)

    return __deepcopy__


def copied(node: Any, memo: dict[int, Any]) -> Any:
    """The same as `copy.deepcopy(node, memo)`. Its parent stays the same, and the values of leaves are shared."""
    made = object.__new__(type(node))
    attributes = made.__dict__
    attributes.update(node.__dict__)
    attributes["_metadata"] = _copied_metadata(node.__dict__["_metadata"], memo)
    if type(node) is DictConfig:
        _copy_flags(attributes)
        if type(content := attributes["_content"]) is dict:
            attributes["_content"] = {key: _child(value, made, memo) for key, value in content.items()}
    elif type(node) is ListConfig:
        _copy_flags(attributes)
        if type(content := attributes["_content"]) is list:
            attributes["_content"] = [_child(value, made, memo) for value in content]
    else:
        attributes["_flags_cache"] = None
    return made


def _child(node: Any, parent: Any, memo: dict[int, Any]) -> Any:
    made = memo.get(id(node))
    if made is None:
        if type(node) in _QUICK:
            made = memo[id(node)] = copied(node, memo)
        else:
            made = _usual_copy(node, memo)
    made.__dict__["_parent"] = parent
    return made


def _usual_copy(node: Any, memo: dict[int, Any]) -> Any:
    """Without its parent, which would be copied too."""
    parent, node.__dict__["_parent"] = node.__dict__["_parent"], None
    try:
        return copy.deepcopy(node, memo)
    finally:
        node.__dict__["_parent"] = parent


def _copy_flags(attributes: dict[str, Any]) -> None:
    if attributes["_flags_cache"] is not None:
        attributes["_flags_cache"] = dict(attributes["_flags_cache"])


def _copied_metadata(metadata: Any, memo: dict[int, Any]) -> Any:
    """Types and keys never change, so copies share them."""
    made = object.__new__(type(metadata))
    attributes = made.__dict__
    attributes.update(metadata.__dict__)
    if attributes["flags"] is not None:
        attributes["flags"] = dict(attributes["flags"])
    cache = attributes["resolver_cache"]
    attributes["resolver_cache"] = copy.deepcopy(cache, memo) if cache else defaultdict(dict)
    return made
