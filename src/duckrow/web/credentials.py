"""Who may come in: the token of scripts, links that work once, and the sessions of browsers.

All lie in a private folder of the state folder, so that they outlive the server. Of links and sessions only a digest
is kept, and it names their file: whoever finds a file by a digest learns nothing by how long that takes. The token
itself is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
import time

TOKEN_BYTES = 32
LINK_S = 3600.0  # a link that nobody has used by then works no more
SESSION_S = 30 * 86_400.0  # since it was last used
_MOST_LINKS = 20
_MOST_SESSIONS = 500
_FRESHEN_S = 3600.0  # how often the use of a session is noted


class Credentials:
    def __init__(self, home: str) -> None:
        self._folder = f"{home}/web"
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._links = _Tokens(f"{self._folder}/links", LINK_S, _MOST_LINKS)
        self._sessions = _Tokens(f"{self._folder}/sessions", SESSION_S, _MOST_SESSIONS)

    # -- the token of scripts ---------------------------------------------------------------------------------

    def token(self) -> str:
        """Made when it is first asked for; removing its file takes it back."""
        path = f"{self._folder}/token"
        token = _read(path)
        if token:
            return token
        _replace(path, secrets.token_urlsafe(TOKEN_BYTES), is_empty=token is not None)
        return self.token()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), _digest(self.token()))

    # -- links that work once ---------------------------------------------------------------------------------

    def new_link(self) -> str:
        return self._links.new()

    def use_link(self, given: str) -> bool:
        """Whether it was good: of two who use it at once, the kernel lets one remove it."""
        is_fresh = self._links.unused_s(given) < LINK_S
        return self._links.end(given) and is_fresh

    # -- sessions of browsers ---------------------------------------------------------------------------------

    def new_session(self) -> str:
        return self._sessions.new()

    def is_session(self, given: str) -> bool:
        unused_s = self._sessions.unused_s(given)
        if _FRESHEN_S < unused_s < SESSION_S:
            self._sessions.freshen(given)
        return unused_s < SESSION_S

    def end_session(self, given: str) -> None:
        self._sessions.end(given)


class _Tokens:
    """Secrets of one kind: of each, an empty file whose name is the digest."""

    def __init__(self, folder: str, good_for_s: float, most: int) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._folder, self._good_for_s, self._most = folder, good_for_s, most

    def new(self) -> str:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        _forget(self._folder, self._good_for_s, self._most - 1)
        os.close(os.open(self._file(token), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return token

    def unused_s(self, given: str) -> float:
        """How long it has not been used; for ever if it is none."""
        try:
            return time.time() - os.stat(self._file(given)).st_mtime
        except OSError:
            return math.inf

    def freshen(self, given: str) -> None:
        try:
            os.utime(self._file(given))
        except OSError:
            pass  # a disk that is full for a while, or a session that was just ended

    def end(self, given: str) -> bool:
        """Whether it was there."""
        try:
            os.unlink(self._file(given))
        except FileNotFoundError:
            return False
        return True

    def _file(self, token: str) -> str:
        return f"{self._folder}/{_digest(token)}"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def _replace(path: str, text: str, is_empty: bool) -> None:
    """A private file, there with all its text or not at all: nobody must get in with half a token, or with none.

    Who comes second leaves it as it is. `is_empty`: what is there is nothing, so that it may go.
    """
    draft = f"{path}.{secrets.token_hex(8)}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    try:
        if is_empty:
            os.replace(draft, path)
        else:
            os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        if not is_empty:
            os.unlink(draft)


def _forget(folder: str, after_s: float, most: int) -> None:
    """Remove the files that are too old, and the oldest of those that are too many."""
    files = sorted(os.scandir(folder), key=lambda file: file.stat().st_mtime, reverse=True)
    for place, file in enumerate(files):
        if place >= most or time.time() - file.stat().st_mtime > after_s:
            try:
                os.unlink(file.path)
            except FileNotFoundError:
                pass
