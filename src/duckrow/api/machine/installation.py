"""How this duckrow was installed, and so what to type to get one of its extras."""

from __future__ import annotations

import json
import os
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit


def install_command(extra: str = "") -> str:
    """What to type to add the extra to this installation, or to reinstall it."""
    what, is_editable = _source(extra)
    quoted = _quoted(what)
    if os.path.exists(f"{sys.prefix}/uv-receipt.toml"):  # uv tool install
        return f"uv tool install --force {'--editable ' if is_editable else ''}{quoted}"
    if os.path.exists(f"{sys.prefix}/pipx_metadata.json"):
        return f"pipx install --force {'--editable ' if is_editable else ''}{quoted}"
    editable = "-e " if is_editable else ""
    if find_spec("pip") is None or _is_uv_environment():
        return f"uv pip install --python {shlex.quote(sys.executable)} {editable}{quoted}"
    return f"{shlex.quote(sys.executable)} -m pip install {editable}{quoted}"


def _source(extra: str) -> tuple[str, bool]:
    """(what was installed, with the extra: its name, or the folder or URL that it came from; whether by `-e`)."""
    origin, brackets = _origin(), f"[{extra}]" if extra else ""
    url = str(origin.get("url", ""))
    if not url:
        return f"duckrow{brackets}", False
    if url.startswith("file://"):
        folder = origin.get("dir_info") or {}
        return f"{unquote(urlsplit(url).path)}{brackets}", bool(folder.get("editable"))
    vcs = (origin.get("vcs_info") or {}).get("vcs")
    return f"duckrow{brackets} @ {f'{vcs}+' if vcs else ''}{url}", False


def _origin() -> dict[str, Any]:
    """As the installer recorded it; empty if it came from an index."""
    try:
        noted = json.loads(distribution("duckrow").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError, OSError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _is_uv_environment() -> bool:
    """Whether `uv venv` made it, which writes its version into it."""
    try:
        with open(f"{sys.prefix}/pyvenv.cfg", errors="replace") as file:
            return any(line.split("=")[0].strip() == "uv" for line in file)
    except OSError:
        return False


def _quoted(what: str) -> str:
    """In quotes, even if this shell needs none: others would read the brackets as a pattern."""
    return shlex.quote(what) if shlex.quote(what) != what else f"'{what}'"
