"""Who may come in: the token of scripts, links that work once, and the sessions of browsers.

All lie in a private folder of the state folder, so that they outlive the server. Of links and sessions only a digest
is kept, and it names their file: whoever finds a file by a digest learns nothing by how long that takes. The token
itself is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
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
        self._links = f"{self._folder}/links"
        self._sessions = f"{self._folder}/sessions"
        for folder in (self._folder, self._links, self._sessions):
            os.makedirs(folder, mode=0o700, exist_ok=True)

    # -- the token of scripts ---------------------------------------------------------------------------------

    def token(self) -> str:
        """Made when it is first asked for; removing its file takes it back."""
        path = f"{self._folder}/token"
        try:
            with open(path) as file:
                return file.read().strip()
        except FileNotFoundError:
            _write_new(path, secrets.token_urlsafe(TOKEN_BYTES))
            return self.token()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(_digest(given), _digest(self.token()))

    # -- links that work once ---------------------------------------------------------------------------------

    def new_link(self) -> str:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        _forget(self._links, LINK_S, _MOST_LINKS - 1)
        _write_new(f"{self._links}/{_digest(token)}", "")
        return token

    def use_link(self, given: str) -> bool:
        """Whether it was good: of two who use it at once, the kernel lets one remove it."""
        path = f"{self._links}/{_digest(given)}"
        try:
            is_fresh = time.time() - os.stat(path).st_mtime < LINK_S
            os.unlink(path)
        except FileNotFoundError:
            return False
        return is_fresh

    # -- sessions of browsers ---------------------------------------------------------------------------------

    def new_session(self) -> str:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        _forget(self._sessions, SESSION_S, _MOST_SESSIONS - 1)
        _write_new(f"{self._sessions}/{_digest(token)}", "")
        return token

    def is_session(self, given: str) -> bool:
        path = f"{self._sessions}/{_digest(given)}"
        try:
            unused_s = time.time() - os.stat(path).st_mtime
            if _FRESHEN_S < unused_s < SESSION_S:
                os.utime(path)
        except OSError:
            return False
        return unused_s < SESSION_S

    def end_session(self, given: str) -> None:
        try:
            os.unlink(f"{self._sessions}/{_digest(given)}")
        except FileNotFoundError:
            pass


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write_new(path: str, text: str) -> None:
    """A private file. Who comes second leaves it as it is."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    except FileExistsError:
        pass


def _forget(folder: str, after_s: float, most: int) -> None:
    """Remove the files that are too old, and the oldest of those that are too many."""
    files = sorted(os.scandir(folder), key=lambda file: file.stat().st_mtime, reverse=True)
    for place, file in enumerate(files):
        if place >= most or time.time() - file.stat().st_mtime > after_s:
            try:
                os.unlink(file.path)
            except FileNotFoundError:
                pass
