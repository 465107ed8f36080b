"""The files of the page: scripts, sheets and pictures, at addresses that browsers need not ask for twice."""

from __future__ import annotations

import os
import re
from hashlib import blake2b

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = os.path.join(os.path.dirname(__file__), "static")
_VERSION = re.compile(r"v[0-9a-f]{12}/")
_KEEP = "max-age=31536000, immutable"
_ASK = "no-cache"  # keep it, but ask each time whether it has changed


def version() -> str:
    """Names the files as they are now. Scripts import each other by relative addresses, so it goes along."""
    found = blake2b(digest_size=6)
    for folder, _, names in sorted(os.walk(FOLDER)):
        for name in sorted(names):
            file = os.stat(os.path.join(folder, name))
            found.update(f"{folder} {name} {file.st_mtime_ns} {file.st_size}\n".encode())
    return f"v{found.hexdigest()}"


class PageFiles(StaticFiles):
    """A page is fifty small files, perhaps over ssh: what the page names as `/static/VERSION/app.js` is fetched once.

    An open page may still load a view after an update: it gets the current file, whatever the version.
    """

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        file = _VERSION.sub("", path, count=1) if _VERSION.match(path) else path
        answer = await super().get_response(file, scope)
        answer.headers["Cache-Control"] = _ASK if file == path else _KEEP
        return answer
