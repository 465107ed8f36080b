"""--preload auto: what a script imports is preloaded, if it is large and known to do nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.adding.libraries import with_libraries
from duckrow.core.jobs.job import JobSpec


def chosen(folder: Path, command: str, preload: str | None = "auto") -> str | None:
    return with_libraries(JobSpec(command, str(folder), preload=preload)).preload


def test_large_libraries_are_found_also_through_the_files_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\nimport model\ndef main():\n    import jax.numpy as jnp\n")
    (tmp_path / "model.py").write_text("from torch import nn\nimport wandb\nimport train\n")
    assert chosen(tmp_path, "python train.py --lr 0.1") == "torch,jax"
    assert chosen(tmp_path, "cd . && LR=1 python3 -u ./train.py") == "torch,jax"
    assert chosen(tmp_path, "python -m train --lr 0.1") == "torch,jax"


def test_a_script_below_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert chosen(Path("/"), "python ~/train.py") == "torch"
    assert chosen(Path("/"), "python $HOME/train.py") == "torch"


def test_what_cannot_be_read_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import torch\nthis is no Python")
    for command in ("python broken.py", "python missing.py", "make all", "torchrun train.py"):
        assert chosen(tmp_path, command) is None


def test_what_a_person_names_stays(tmp_path: Path) -> None:
    assert chosen(tmp_path, "python train.py", "numpy") == "numpy"
    assert chosen(tmp_path, "python train.py", None) is None
