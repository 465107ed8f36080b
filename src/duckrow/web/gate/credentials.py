"""Who may come in: the token of scripts, and links that work once.

Both are in a private folder of the state folder, where the command line can make them and a server finds them. A token
belongs to a mode: what opens a read-only server opens no other. A link belongs to one server: its file is named by a
digest of the server's id and the link, so no other server finds it, and whoever finds a file by a digest learns nothing
by how long that takes. A token is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time

from duckrow.api.calls.private_folder import private_folder

TOKEN_BYTES = 32
LINK_S = 3600.0  # a link that nobody has used by then works no more
_MOST_LINKS = 20


class Credentials:
    def __init__(self, home: str, read_only: bool) -> None:
        self._token = private_folder(f"{home}/web") + ("/token-read-only" if read_only else "/token")
        self._links = private_folder(f"{home}/web/links")

    # -- the token of scripts ---------------------------------------------------------------------------------

    def token(self) -> str:
        """Made when it is first asked for; removing its file takes it back."""
        token = _read(self._token)
        if token:
            return token
        _replace(self._token, secrets.token_urlsafe(TOKEN_BYTES), is_empty=token is not None)
        return self.token()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(digest(given), digest(self.token()))

    # -- links that work once ---------------------------------------------------------------------------------

    def new_link(self, server_id: str) -> str:
        """For the server with this id, and for no other."""
        link = secrets.token_urlsafe(TOKEN_BYTES)
        _forget(self._links, LINK_S, _MOST_LINKS - 1)
        os.close(os.open(self._file(server_id, link), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return link

    def use_link(self, server_id: str, given: str) -> bool:
        """Whether it was good: of two who use it at once, the kernel lets one remove it."""
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
