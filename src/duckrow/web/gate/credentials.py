"""Who may come in: the token of scripts, and links that work once.

Both are in a private folder of the state folder, where the command line creates them and servers find them. A token
belongs to a mode: one for a read-only server opens no other. A link belongs to one server: its file is named by a
digest of the server's id and the link, so no other server finds it. Because of the digest, the time of the lookup tells
nothing about the link. A token is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time

from duckrow.api.calls.private_folder import private_folder

TOKEN_BYTES = 32
LINK_S = 3600.0  # an unused link expires after this time
_MOST_LINKS = 20


class Credentials:
    def __init__(self, home: str, read_only: bool) -> None:
        self._token = private_folder(f"{home}/web") + ("/token-read-only" if read_only else "/token")
        self._links = private_folder(f"{home}/web/links")

    # -- the token of scripts ---------------------------------------------------------------------------------

    def token(self) -> str:
        """Created on first use; to revoke it, remove its file."""
        token = _read(self._token)
        if token:
            return token
        _replace(self._token, secrets.token_urlsafe(TOKEN_BYTES), is_empty=token is not None)
        return self.token()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(digest(given), digest(self.token()))

    # -- links that work once ---------------------------------------------------------------------------------

    def new_link(self, server_id: str) -> str:
        """A link only for the server with this id."""
        link = secrets.token_urlsafe(TOKEN_BYTES)
        _forget(self._links, LINK_S, _MOST_LINKS - 1)
        os.close(os.open(self._file(server_id, link), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return link

    def use_link(self, server_id: str, given: str) -> bool:
        """Whether it was valid. If two use it at once, only one can remove its file."""
        path = self._file(server_id, given)
        try:
            age_s = time.time() - os.stat(path).st_mtime
            os.unlink(path)
        except FileNotFoundError:
            return False
        return age_s < LINK_S

    def _file(self, server_id: str, link: str) -> str:
        return f"{self._links}/{digest(f'{server_id}:{link}')}"


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def _replace(path: str, text: str, is_empty: bool) -> None:
    """Create a private file with all its text or not at all: nobody must get in with half a token, or an empty one.

    If two do this at once, the first one wins. `is_empty`: the existing file is empty, so it may be replaced.
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
    """Remove files that are too old, and the oldest ones if there are too many."""
    files = sorted(os.scandir(folder), key=lambda file: file.stat().st_mtime, reverse=True)
    for place, file in enumerate(files):
        if place >= most or time.time() - file.stat().st_mtime > after_s:
            try:
                os.unlink(file.path)
            except FileNotFoundError:
                pass
