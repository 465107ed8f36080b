"""`duckrow web`: the page, and the HTTP interface behind it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from duckrow.cli.console import say
from duckrow.cli.refusals import end_line
from duckrow.core.errors import EXIT_OK, DuckrowError, UsageError

if TYPE_CHECKING:
    from duckrow.web.server_options import ServerOptions


@click.command(short_help="Show the queue in a browser.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port to listen on.  [default: 8787, or the next free one]",
)
@click.option("--read-only", is_flag=True, help="Show everything, change nothing: for a shared screen.")
@click.option("--base-path", default="", metavar="PATH", help="Behind a proxy: the path that it is reached under.")
@click.option("--proxy-name", "proxy_names", multiple=True, metavar="NAME", help="Behind a proxy: its host name.")
@click.option("--allow-network", is_flag=True, help="Listen on an address that others can reach.")
@click.option("--open/--no-browser", "opens", default=None, help="Open a browser, or do not.")
@click.option("--url", "prints_url", is_flag=True, help="Print a new link to the running server.")
@click.option("--token", "prints_token", is_flag=True, help="Print the token for scripts.")
@click.option("--beside-daemon", is_flag=True, hidden=True)
@click.option("--gpupeasy", is_flag=True, hidden=True)
def command(prints_url: bool, prints_token: bool, opens: bool | None, beside_daemon: bool, **values: Any) -> int:
    """Serve the page on this machine, until Ctrl-C. It prints a link that works once, and logs a browser in.

    \b
    duckrow web                          here, and over `ssh -L 8787:127.0.0.1:8787`
    duckrow web --url                    another link, to log in again or in another browser
    duckrow web --token                  the token that scripts send
    duckrow web --read-only --port 9000  read-only
    duckrow up --web                     beside the daemon, in the background

    It is a separate process. When it ends, all logins end; jobs and the daemon are not affected. Jobs that you
    add on the page run in this folder with your environment variables, unless they say otherwise. With
    --read-only, --url and --token belong to a read-only server and open no other.
    """
    _need_extra()
    from duckrow.api.python.handles import client_of
    from duckrow.web.gate.credentials import Credentials

    with client_of() as client:
        home = client.home
    if prints_token:
        print(Credentials(home, values["read_only"]).token())
        return EXIT_OK
    if prints_url:
        print(_link_to_running(home, values["port"], values["read_only"]))
        return EXIT_OK
    return _serve(home, opens, beside_daemon, values)


def _need_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "jinja2") if find_spec(name) is None]
    if missing:
        from duckrow.api.machine.installation import install_command

        raise DuckrowError(f"The page needs {', '.join(missing)}. Install: {install_command('web')}")


def _link_to_running(home: str, port: int | None, read_only: bool) -> str:
    """A link to the newest server, preferring one that is not read-only; the others are mentioned."""
    from duckrow.api.machine.web_process import running_servers
    from duckrow.web.server_options import ServerOptions

    running = [server for server in running_servers(home) if server.read_only or not read_only]
    found = [server for server in running if port in (None, server.port)]
    if not found:
        raise DuckrowError(_not_served(port, read_only, [server.port for server in running]))
    chosen = sorted(found, key=lambda server: not server.read_only)[-1]
    for server in found:
        if server is not chosen:
            mode = "a read-only page" if server.read_only else "a page"
            say(f"duckrow: {mode} is at port {server.port}, too: duckrow web --url --port {server.port}")
    at = (chosen.host, chosen.port, chosen.base_path)
    return _link(ServerOptions(home, *at, chosen.read_only, id=chosen.id, name=chosen.name))


def _not_served(port: int | None, read_only: bool, elsewhere: list[int]) -> str:
    page, option = ("A read-only page", " --read-only") if read_only else ("The page", "")
    if elsewhere:
        ports = " and ".join(str(each) for each in sorted(elsewhere))
        return f"{page} is not being served at port {port}, but at {ports}. Type: duckrow web{option} --url"
    return f"{page} is not being served{'' if port is None else f' at port {port}'}. Start it: duckrow web{option}"


def _link(serving: ServerOptions) -> str:
    """Browsers do not send what comes after the `#`: only the scripts of the page see it."""
    from duckrow.web.gate.credentials import Credentials

    return f"{serving.url}#login={Credentials(serving.home, serving.read_only).new_link(serving.id)}"


def _serve(home: str, opens: bool | None, beside_daemon: bool, values: dict[str, Any]) -> int:
    from duckrow.web.server import StopRequests, listen, serve
    from duckrow.web.server_options import DEFAULT_PORT, ServerOptions, checked_base_path, is_local

    host, port = values["host"], values["port"]
    if not is_local(host) and not values["allow_network"]:
        raise UsageError(
            f"{host} can be reached by others on the network: whoever has a link or the token runs commands as you, "
            "and without TLS both can be read on the way. If that is meant: --allow-network. Safer: ssh -L."
        )
    wanted = ServerOptions(
        home,
        host,
        DEFAULT_PORT if port is None else port,
        checked_base_path(values["base_path"]),
        values["read_only"],
        tuple(name.lower() for name in values["proxy_names"]),
        values["gpupeasy"],
    )
    listening, serving = listen(wanted, exact=port is not None)
    with StopRequests().heard() as stop:
        link = _link(serving)
        _announce(serving, beside_daemon)
        _greet(serving, link, beside_daemon)
        if opens or (opens is None and _has_browser()):
            _open(home, link)
        serve(listening, serving, stop)
    if stop.by_key:
        end_line()
    return EXIT_OK


def _announce(serving: ServerOptions, beside_daemon: bool) -> None:
    from duckrow.api.machine.web_process import WebServer, announce

    at = (serving.host, serving.port, serving.base_path)
    mine = WebServer(os.getpid(), *at, serving.read_only, beside_daemon, serving.id, serving.name)
    announce(serving.home, mine)


def _greet(serving: ServerOptions, link: str, beside_daemon: bool) -> None:
    import socket

    another = f"duckrow web{' --read-only' if serving.read_only else ''} --url"
    print(f"duckrow: the page is at {link}")
    print(f"duckrow: that link works once, within an hour; `{another}` prints another.")
    if serving.is_local:
        here = f"{serving.number}:{serving.port}"
        print(f"duckrow: from elsewhere: ssh -L {serving.port}:{here} {socket.gethostname()}")
    else:
        print("duckrow: others on the network can reach this server; links and the token travel unencrypted.")
    if serving.gpupeasy:
        address = f"http://gpupeasy:TOKEN@127.0.0.1:{serving.port}"
        print(f"duckrow: scripts use {address}, with the token that `duckrow web --token` prints.")
    sys.stdout.flush()
    if beside_daemon:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the process that started us has read enough
    else:
        say("duckrow: Ctrl-C stops it; jobs keep running.")


def _has_browser() -> bool:
    """Whether the user sits in front of this machine."""
    return sys.stdout.isatty() and bool(os.environ.get("DISPLAY")) and not os.environ.get("SSH_CONNECTION")


def _open(home: str, link: str) -> None:
    """Open it through a private file: everybody on this machine can read a browser's command line."""
    import webbrowser
    from html import escape
    from urllib.parse import quote

    from duckrow.api.calls.private_folder import private_folder

    path = f"{private_folder(f'{home}/web')}/open.html"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(f'<!doctype html><title>duckrow</title><meta http-equiv="refresh" content="0; url={escape(link)}">')
    webbrowser.open(f"file://{quote(path)}")
