"""Programs that pages name and a test must not run as they are: what they do instead.

What jobs call (a training, torchrun) reports what trainings report. What would change the machine notes how it was
called, in the file `called` beside it, or does the same to the folder of the test only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests import quick_duckrow

# A script that is there is run by the real Python.
_PYTHON = f"""#!/bin/sh
if [ -f "$1" ]; then exec {sys.executable} "$@"; fi
case "$1" in make_commands.py) echo true ;; esac
. "$(dirname "$0")/training"
"""
_TRAINING = """#!/bin/sh
if [ -n "$DUCKROW_METRICS" ]; then echo '{"loss": 0.1, "accuracy": 0.5}' >> "$DUCKROW_METRICS"; fi
"""
_NOTED = '#!/bin/sh\necho "$(basename "$0") $*" >> "$(dirname "$0")/called"\n'
# What would be started is looked at by systemd, where it is installed.
_SYSTEMCTL = f"""{_NOTED}
case "$*" in *"restart duckrow.service") ;; *) exit 0 ;; esac
if command -v systemd-analyze > /dev/null; then
    export XDG_RUNTIME_DIR="$HOME"
    # It also says what it does not like of the machine, such as a mount of another test. Of our unit it may not know
    # one key yet, as the unit says; of all else we want to hear.
    ! systemd-analyze --user verify "$XDG_CONFIG_HOME/systemd/user/duckrow.service" 2>&1 |
        grep duckrow.service | grep -v DelegateSubgroup >&2
fi
"""
_DUCKROW = f'#!/bin/sh\nexec {sys.executable} -IS {quick_duckrow.__file__} "$@"\n'

PROGRAMS = {
    "duckrow": _DUCKROW,
    "python": _PYTHON,
    "python3": _PYTHON,
    "training": _TRAINING,
    "torchrun": _TRAINING,
    "train": _TRAINING,
    "nvidia-smi": _NOTED,
    "make_commands": "#!/bin/sh\necho true\n",
    "make_jobs": """#!/bin/sh\necho '{"command": "true"}'\n""",
    "sudo": _NOTED + 'exec "$@"\n',
    "systemctl": _SYSTEMCTL,
    "loginctl": _NOTED,
    # The real one reads its command line, and says what it would do.
    "ssh": _NOTED + 'PATH="${PATH#*:}"; if command -v ssh > /dev/null; then exec ssh -G "$@"; fi\n',
}


def put_into(folder: Path) -> None:
    folder.mkdir()
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def calls(folder: Path) -> list[str]:
    """How those were called that note it."""
    noted = folder / "called"
    return noted.read_text().splitlines() if noted.exists() else []
