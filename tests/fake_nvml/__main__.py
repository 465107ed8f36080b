"""Fake GPUs for a shell: `eval "$(python -m tests.fake_nvml FOLDER 'NVIDIA H200:141000' ...)"`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tests.fake_nvml import FakeGpus, NoCompiler


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: python -m tests.fake_nvml FOLDER NAME:MB ...")
    folder = Path(sys.argv[1]).resolve()
    for name in ("gpus", "history"):
        (folder / name).unlink(missing_ok=True)
    try:
        gpus = FakeGpus(folder)
    except NoCompiler as error:
        sys.exit(f"{error}")
    for word in sys.argv[2:]:
        name, _, mb = word.rpartition(":")
        gpus.add(name, int(mb))
    for name, value in gpus.env().items():
        print(f"export {name}={shlex.quote(value)}")
    print(f"fakegpu={shlex.quote(gpus.job())}")


if __name__ == "__main__":
    main()
