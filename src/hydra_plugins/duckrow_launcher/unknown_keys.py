"""Suggests the right key of `hydra.launcher` before Hydra refuses an unknown one.

Hydra refuses it while it composes the config, before it loads a launcher. It calls plugins of this kind earlier, in
every application. So this one adds nothing to the search path, and prints nothing unless the command line chooses one
of our launchers and has a key that this launcher does not have.
"""

from __future__ import annotations

import sys

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from duckrow.hydra.unknown_keys import hints_for


class UnknownKeys(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for hint in hints_for(sys.argv[1:]):
            print(hint, file=sys.stderr)
