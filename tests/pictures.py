"""The terminal pictures of the docs, taken from the real program: `python -m tests.pictures` takes them again.

A scene types commands and keeps what they print, with its colours; rich draws that as an SVG. The GPUs of a scene are
those of tests/fake_nvml, so that a picture can be taken, and tested, on any machine.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.conftest import until
from tests.fake_nvml import FakeGpus, fakegpu
from tests.fork_server import Program
from tests.shown import Terminal

FOLDER = Path(__file__).parent.parent / "docs/pictures"
WIDTH = 100
# rich's own frame names a font on a web server; this one names none.
FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def _environment(folder: Path) -> dict[str, str]:
    dropped = ("NO_COLOR", "CUDA_VISIBLE_DEVICES")
    own = {"DUCKROW_HOME": f"{folder}/state", "DUCKROW_GPU_LOCKS": f"{folder}/locks", "FORCE_COLOR": "1"}
    return {name: value for name, value in os.environ.items() if name not in dropped} | own | {"COLUMNS": str(WIDTH)}


def _typed(terminal: Terminal, *commands: str) -> str:
    return "\n".join(f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n{terminal.type(command)}" for command in commands)


# -- the scenes -----------------------------------------------------------------------------------------------------


@contextmanager
def _daemon(terminal: Terminal) -> Iterator[None]:
    """One that sees the fake GPUs: in the background it would forget the variables that name them."""
    ready, told = os.pipe()
    words = [sys.executable, "-m", "duckrow", "up", "--foreground", "--ready-fd", str(told), "--devices", "0,1"]
    words += ["--slots", "4"]
    with Program[bytes](
        words, cwd=terminal.folder, env=terminal.env, pass_fds=(told,), stderr=subprocess.DEVNULL
    ) as daemon:
        os.close(told)
        try:
            assert os.read(ready, 5) == b"ready"
            yield
        finally:
            os.close(ready)
            terminal.type("duckrow down --kill")
            daemon.communicate()


def sharing(folder: Path) -> str:
    """Six trainings share two GPUs by their memory: four run, and two wait for room."""
    gpus = FakeGpus(folder / "fake-gpus")
    for degrees in (61, 58):
        gpus.add("NVIDIA RTX 4090", memory_mb=24_576, temperature=degrees)
    words = ["--ramp", "0:9216", "--util", "45", "--hold", "600"]
    training = f"import os, sys\nos.execv(sys.executable, [sys.executable, '-IS', {fakegpu.__file__!r}, *{words}])\n"
    (folder / "train.py").write_text(training)
    rates = ("0.1", "0.05", "0.02", "0.01", "0.005", "0.002")
    (folder / "commands.txt").write_text("".join(f"python train.py --lr {rate}\n" for rate in rates))
    terminal = Terminal(folder, _environment(folder) | gpus.env())
    with _daemon(terminal):
        submitted = _typed(terminal, "duckrow submit --gpu-mem 10G --file commands.txt")
        until(lambda: _uses(terminal) == [9216] * 4, "four jobs that hold their memory")
        return submitted + "\n" + _typed(terminal, "duckrow ls", "duckrow gpus")


def _uses(terminal: Terminal) -> list[int | None]:
    """What the jobs on all GPUs are seen to take."""
    devices = json.loads(terminal.type("duckrow gpus --json"))
    return [job["used_mb"] for device in devices for job in device["jobs"] if not device["device"].startswith("cpu")]


def sweeping(folder: Path) -> str:
    """A sweep of which one run fails, and its table."""
    (folder / "train.py").write_text((FOLDER.parent.parent / "examples/train.py").read_text())
    terminal = Terminal(folder, _environment(folder))
    sweep = "duckrow sweep 'python3 train.py --lr {lr}' -p lr 0.1 0.2 0.3 10 --run --slots 2"
    return _typed(terminal, sweep, "duckrow results --sort loss")


SCENES: dict[str, Callable[[Path], str]] = {"sharing": sharing, "sweep-results": sweeping}


# -- taking and reading ---------------------------------------------------------------------------------------------


def take(name: str) -> str:
    """The picture as it is today."""
    with tempfile.TemporaryDirectory() as folder:
        seen = SCENES[name](Path(folder)).rstrip()
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    console.print(Text.from_ansi(seen))
    return console.export_svg(title="", code_format=FRAME, unique_id=name)


def text_of(svg: str) -> str:
    """The lines that a picture shows, one below the other."""
    rows: dict[float, dict[float, str]] = {}
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if re.search(r"-line-\d+\)", element.get("clip-path", "")):
            row = rows.setdefault(float(element.get("y", 0)), {})
            row[float(element.get("x", 0))] = (element.text or "").replace("\xa0", " ")
    lines = (" ".join(row[x] for x in sorted(row)) for _, row in sorted(rows.items()))
    return "\n".join(line for line in lines if line.strip())


if __name__ == "__main__":
    for name in SCENES:
        (FOLDER / f"{name}.svg").write_text(take(name))
