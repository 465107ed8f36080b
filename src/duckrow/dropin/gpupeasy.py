"""GPUPeasy's two programs on duckrow: the server that scripts talk to, and the page."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Sequence

from duckrow.api.calls.interpreter import become, module_command

SERVER_PORT, GUI_PORT = 8888, 4004


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="gpupeasy", description="Serve GPUPeasy's routes, or the page, on this machine and behind a token."
    )
    programs = parser.add_subparsers(dest="program", required=True)
    server = programs.add_parser("server", help=f"the routes of startserver.py, at port {SERVER_PORT}")
    server.add_argument(
        "--gpus", nargs="+", help="The devices of the daemon, even of a running one: 0 1, or 0,1 2,3 for pairs."
    )
    server.add_argument("--port", type=int, default=SERVER_PORT)
    gui = programs.add_parser("gui", help=f"the page of startgui.py, at port {GUI_PORT}")
    gui.add_argument("--port", type=int, default=GUI_PORT)
    given = parser.parse_args(arguments)
    if given.program == "gui":
        return become(module_command("duckrow", "web", "--port", str(given.port)))
    devices = [f"--devices={token}" for token in given.gpus or []]
    # GPUPeasy never checked whether others use a GPU.
    as_it_was = {"DUCKROW__DAEMON__SHARE_GPUS": "true", **os.environ}
    started = subprocess.run(module_command("duckrow", "up", *(devices or ["--quiet"])), env=as_it_was)
    if started.returncode != 0:
        return started.returncode
    return become(module_command("duckrow", "web", "--gpupeasy", "--no-browser", "--port", str(given.port)))


if __name__ == "__main__":
    raise SystemExit(main())
