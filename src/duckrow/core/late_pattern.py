"""`late_pattern` as `re.compile`, but compiled when it is first used.

To compile a pattern takes as long as to load a small module. A verb loads twenty, and uses few of them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from re import compile as late_pattern
    from typing import Any
else:
    import re

    class late_pattern:
        def __init__(self, *pattern: Any) -> None:
            self._pattern = pattern

        def __getattr__(self, name: str) -> Any:
            """Called once for each name: what is found becomes an attribute of its own."""
            found = getattr(re.compile(*self._pattern), name)  # re remembers what it has compiled
            setattr(self, name, found)
            return found


__all__ = ["late_pattern"]
