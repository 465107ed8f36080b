"""Parses interpolations (`${hydra.job.name}.log`) once: OmegaConf parses each whenever it is resolved.

What a text means depends on the config, but its parse tree does not, and who resolves it only reads the tree. Forked
runs share those that their preloaded parent has parsed.
"""

from __future__ import annotations

import functools
from typing import Any

import omegaconf.base
from omegaconf import __version__ as omegaconf_version

_KNOWN = "2.3."  # the versions of OmegaConf whose internals we know; others parse the usual way
_MOST = 1000  # of these trees


def parse_interpolations_once() -> None:
    """From now on, in this process."""
    parse: Any = getattr(omegaconf.base, "parse", None)
    if omegaconf_version.startswith(_KNOWN) and parse is not None and not hasattr(parse, "cache_info"):
        omegaconf.base.parse = functools.lru_cache(_MOST)(parse)  # type: ignore[attr-defined]
