"""Who owns the state folder, and what to do if it is another user."""

from __future__ import annotations

import os

from duckrow.core.named_tuple import NamedTuple

_ROOT = 0


class Owned(NamedTuple):
    what: str
    advice: str

    def in_words(self) -> str:
        return f"{self.what}. {self.advice}"


def owned_by_another(root: str) -> Owned | None:
    """None: it is ours, or no other owner is known."""
    for path in (_nearest(root), f"{root}/duckrow.db", f"{root}/duckrow.db-wal"):
        owner = _owner_of(path)
        if owner not in (None, os.getuid()) and not (owner == _ROOT and len(path) < len(root)):
            return Owned(f"{path} belongs to another user ({_user_name(owner)})", _advice(root, path))
    return None


def _nearest(root: str) -> str:
    """The folder itself, or its nearest parent that exists."""
    while not os.path.lexists(root):
        root = os.path.dirname(root)
    return root


def _advice(root: str, path: str) -> str:
    if os.environ.get("DUCKROW_HOME"):
        return "DUCKROW_HOME leads there: unset it, or set it to your own folder."
    if _owner_of(os.path.expanduser("~")) == os.getuid() and len(path) >= len(root):
        # In our own home: somebody has run duckrow there as another user, for example with sudo.
        return f"Was duckrow run with sudo? Make it yours again: sudo chown -R {_user_name(os.getuid())}: {root}"
    variable = "XDG_STATE_HOME" if os.environ.get("XDG_STATE_HOME") else "HOME"
    return f"{variable} leads there: set it, or DUCKROW_HOME, to your own folder."


def _owner_of(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


def _user_name(uid: int | None) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return str(uid)
