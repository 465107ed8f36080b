"""The runs of a multirun: their numbers and folders, which stay when it is resumed, and their results there."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn
from omegaconf import DictConfig, OmegaConf, open_dict

from duckrow.core.named_tuple import NamedTuple
from duckrow.hydra.errors import LauncherError
from duckrow.hydra.runs.run import job_id

_NUMBER = ("${hydra.job.num}", "${hydra:job.num}")


class HydraRun(NamedTuple):
    number: int
    overrides: list[str]
    key: str  # the same whenever this run of this multirun is asked for
    subdir: str  # hydra.sweep.subdir
    folder: str  # where duckrow keeps its files for it: the subdir, unless another run has that


class Multirun:
    """What is in `hydra.sweep.dir`."""

    def __init__(self, config: DictConfig, loader: Any, resume: bool) -> None:
        self._config, self._loader = config, loader
        self.folder = os.path.abspath(str(config.hydra.sweep.dir))
        self.root = f"{self.folder}/.duckrow"
        self._subdir_as_typed = str(OmegaConf.to_container(config.hydra.sweep, resolve=False)["subdir"])  # type: ignore[call-overload, index]
        self._list = f"{self.root}/runs.jsonl"
        self._times: Counter[str] = Counter()  # how often the same overrides have been asked for
        self._make_folder()
        if not resume and os.path.exists(self._list):
            os.unlink(self._list)  # a new start: its runs replace the earlier ones
        self._known: dict[str, HydraRun] = {}
        self._numbers: set[int] = set()
        self._folders: set[str] = set()
        for run in self._listed():
            self._know(run)

    def plan(self, job_overrides: Sequence[Sequence[str]], first: int) -> list[HydraRun]:
        """The runs of these overrides, in the same order; known runs keep their numbers and folders."""
        before = set(self._known)
        planned = [self._run_of(list(overrides), first + place) for place, overrides in enumerate(job_overrides)]
        with open(self._list, "a") as file:
            file.writelines(self._line(run) + "\n" for run in planned if run.key not in before)
        return planned

    def forget(self, runs: Sequence[HydraRun], parent: str) -> None:
        """These were not submitted. If there are no others, leave no files of ours. `parent`: of the sweep's folder."""
        gone = {run.key for run in runs}
        left = [run for key, run in self._known.items() if key not in gone]
        with suppress(OSError):
            if left:
                with open(self._list, "w") as file:
                    file.writelines(self._line(run) + "\n" for run in left)
            else:
                os.unlink(self._list)
                os.rmdir(parent)
                os.rmdir(self.root)

    def _run_of(self, overrides: list[str], number: int) -> HydraRun:
        text = json.dumps(overrides)
        self._times[text] += 1
        key = text if self._times[text] == 1 else f"{text}#{self._times[text]}"
        if key in self._known:
            return self._known[key]
        if number in self._numbers:
            number = max(self._numbers) + 1
        run = HydraRun(number, overrides, key, *self._places(overrides, number))
        self._know(run)
        return run

    def _know(self, run: HydraRun) -> None:
        self._known[run.key] = run
        self._numbers.add(run.number)
        self._folders.add(run.folder)

    def _places(self, overrides: list[str], number: int) -> tuple[str, str]:
        subdir = self._subdir(overrides, number)
        folder = os.path.normpath(os.path.join(self.folder, subdir))
        if folder == self.folder or folder in self._folders:
            folder = f"{self.root}/runs/{number}"
        return subdir, folder

    def _subdir(self, overrides: list[str], number: int) -> str:
        """Usually the number of the run, which is known without composing a config."""
        text = self._subdir_as_typed
        for name in _NUMBER:
            text = text.replace(name, str(number))
        if "${" not in text:
            return text
        config = self._loader.load_sweep_config(self._config, overrides)
        with open_dict(config):
            config.hydra.job.num = number
            config.hydra.job.id = job_id(config.hydra.job.name, number)
        with _hydra_config(config):
            return str(OmegaConf.select(config, "hydra.sweep.subdir"))

    def _make_folder(self) -> None:
        try:
            os.makedirs(self.root, exist_ok=True)
            if "mode" in self._config.hydra.sweep and self._config.hydra.sweep.mode is not None:
                os.chmod(self.folder, int(str(self._config.hydra.sweep.mode), 8))
        except OSError as error:
            raise LauncherError(f"The folder {self.folder} cannot be created: {error.strerror}.") from None

    def _line(self, run: HydraRun) -> str:
        """With a relative folder: somebody may move the whole multirun, or see it under another path."""
        return json.dumps(run._replace(folder=os.path.relpath(run.folder, self.folder))._asdict())

    def _listed(self) -> Iterator[HydraRun]:
        try:
            with open(self._list) as file:
                for line in file:
                    if line.endswith("\n"):  # else its writer was killed
                        run = HydraRun(**json.loads(line))
                        yield run._replace(folder=os.path.join(self.folder, run.folder))
        except FileNotFoundError:
            pass


def result_of(run: HydraRun) -> JobReturn | None:
    """What the run returned, if it succeeded."""
    from duckrow.api.calls.functions import JobFailed, value_of

    try:
        returned = value_of(run.folder, f"Run {run.number}")
    except (JobFailed, OSError, EOFError):
        return None
    return returned if isinstance(returned, JobReturn) else None


def make_ready(runs: Iterable[HydraRun]) -> None:
    """Prepare the folders: remove the results of earlier attempts, and keep their logs beside the new ones."""
    from duckrow.api.call import RESULT

    for run in runs:
        try:
            if _make_new(run.folder):
                continue
            for name in os.listdir(run.folder):
                if name == RESULT:
                    os.unlink(f"{run.folder}/{name}")
                elif name.startswith("attempt-") and name.endswith(".log"):
                    os.rename(f"{run.folder}/{name}", _free(f"{run.folder}/{name}"))
        except OSError as error:
            raise LauncherError(
                f"The folder {run.folder} of run {run.number} cannot be created: {error.strerror}."
            ) from None


def _make_new(folder: str) -> bool:
    """False if it was there, perhaps with files of an earlier attempt."""
    try:
        os.makedirs(folder)
        return True
    except FileExistsError:
        return False


def _free(path: str) -> str:
    number = 1
    while os.path.exists(f"{path}.{number}"):
        number += 1
    return f"{path}.{number}"


@contextmanager
def _hydra_config(config: DictConfig) -> Iterator[None]:
    """For the resolver `hydra:`, which reads the config of the current run."""
    before = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(config)
    try:
        yield
    finally:
        HydraConfig.instance().cfg = before
