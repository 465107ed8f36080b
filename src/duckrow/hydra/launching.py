"""A launch: turns the overrides of a sweeper into jobs, and the ends of those jobs into Hydra's job returns."""

from __future__ import annotations

import gc
import logging
import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, JobStatus, configure_log, filter_overrides, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from duckrow.hydra.earlier import forget_ended
from duckrow.hydra.errors import LauncherError, told_by_hydra
from duckrow.hydra.jobs import jobs_of, with_warm_start
from duckrow.hydra.multirun import HydraRun, Multirun, make_ready, result_of
from duckrow.hydra.resources import Resources
from duckrow.hydra.runs.failures import Failures
from duckrow.hydra.runs.launch import VARIABLE, Launch, save_launch
from duckrow.hydra.runs.quick_loader import quick_loader, unresolved
from duckrow.hydra.runs.tracebacks import restore_traceback
from duckrow.hydra.unknown_keys import unknown_keys
from duckrow.hydra.wanted import LaunchOptions

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView
    from duckrow.api.sweeps.sweeps import SweepRow
    from duckrow.hydra.destinations import Destination

log = logging.getLogger("duckrow")

_INTERRUPTED = 130  # the exit code, as in shells
_NEEDS_NO_RESULTS = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"


class DuckrowLauncher(Launcher):
    """What all launchers have in common. They differ in what their keys mean, and in where the runs go."""

    def __init__(self, **values: Any) -> None:
        self._values = {
            key: OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
            for key, value in values.items()
        }
        self._session: MultirunSession | None = None

    @abstractmethod
    def wanted(self, values: Mapping[str, Any]) -> LaunchOptions: ...

    @abstractmethod
    def place(self, wanted: LaunchOptions, sweep: SweepRow, client: Client, runs: int) -> tuple[Destination, Resources]:
        """Where the runs go, and what they divide there. `runs`: the number of runs in the first launch."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        gc.freeze()  # Hydra, its configs and the script stay: nobody need look for garbage in them
        # The sweeper has the same context, and uses this loader to check every run before it gives it to us.
        hydra_context.config_loader = quick_loader(hydra_context.config_loader)
        for hint in unknown_keys(type(self).__name__, self._values):
            raise LauncherError(f"{hint} Nothing was submitted.")
        with told_by_hydra():
            wanted = self.wanted(self._values)
        sweeper = config.hydra.sweeper._target_
        if not wanted.wait and sweeper != _NEEDS_NO_RESULTS:
            raise LauncherError(
                f"{sweeper} needs the results of its runs, and with wait_for_completion=false there are none. "
                "Nothing was submitted. Set hydra.launcher.wait_for_completion=true."
            )
        self._session = MultirunSession(wanted, self.place, hydra_context, task_function, config)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        assert self._session is not None
        with told_by_hydra():
            try:
                return self._session.launch(job_overrides, initial_job_idx)
            except KeyboardInterrupt:
                print(f"duckrow: interrupted. {self._session.how_to_resume()}", file=sys.stderr)
                sys.exit(_INTERRUPTED)  # a traceback would hide what to type


class MultirunSession:
    """One multirun. Its sweeper may launch more than once."""

    def __init__(
        self,
        wanted: LaunchOptions,
        make_place: Callable[[LaunchOptions, SweepRow, Client, int], tuple[Destination, Resources]],
        hydra_context: HydraContext,
        task_function: TaskFunction,
        config: DictConfig,
    ) -> None:
        self._wanted, self._make_place = wanted, make_place
        self._context, self._function, self._config = hydra_context, task_function, config
        self._multirun: Multirun | None = None
        self._sweep: SweepRow | None = None
        self._place: Destination | None = None
        self._launch_file = ""

    def launch(self, job_overrides: Sequence[Sequence[str]], first: int) -> list[JobReturn]:
        from duckrow.api.python.handles import open_client

        setup_globals()
        configure_log(self._config.hydra.hydra_logging, self._config.hydra.verbose)
        if self._multirun is None:
            self._multirun = Multirun(self._config, self._context.config_loader, self._wanted.resume)
        runs = self._multirun.plan(job_overrides, first)
        with open_client() as client:
            returns = self._succeeded(runs)
            missing = [run for run in runs if run.key not in returns]
            try:
                self._open(client, missing)
                self._submit(client, missing)
            except BaseException:
                self._leave_nothing(client, missing)
                raise
            if not self._wanted.wait:
                return []
            self._await(client, missing, returns)
        return [returns[run.key] for run in runs]

    def how_to_resume(self) -> str:
        if self._multirun is None or self._sweep is None:
            return "Nothing was submitted."
        import shlex

        folder = shlex.quote(os.path.relpath(self._multirun.folder))
        return (
            "The runs that had not ended were stopped. What is missing runs with the same command and "
            f"hydra.sweep.dir={folder} hydra.launcher.resume=true"
        )

    # -- before -----------------------------------------------------------------------------------------------

    def _succeeded(self, runs: Sequence[HydraRun]) -> dict[str, JobReturn]:
        if not self._wanted.resume:
            return {}
        found = {run.key: returned for run in runs if (returned := result_of(run)) is not None}
        log.info(f"{len(found)} of {len(runs)} runs had already succeeded and do not run again.")
        return found

    def _open(self, client: Client, runs: Sequence[HydraRun]) -> None:
        """Create the sweep, and the file that its runs share."""
        if self._sweep is not None:
            return
        assert self._multirun is not None
        self._sweep = self._find_sweep(client, self._multirun.root)
        os.makedirs(self._sweep.folder, exist_ok=True)
        self._place, resources = self._make_place(self._wanted, self._sweep, client, len(runs))
        token = os.urandom(4).hex()
        launch = Launch(
            self._config,
            self._context,
            resources,
            self._wanted.verbose,
            sample=runs[0].overrides if runs else [],
            failures=self._failures(f"{self._sweep.folder}/failures-{token}"),
        )
        self._launch_file = f"{self._sweep.folder}/launch-{token}.pkl"
        save_launch(launch, self._function, self._launch_file)

    def _failures(self, path: str) -> Failures | None:
        """If we do not wait, and nobody else counts failures, the runs count them."""
        wanted = self._wanted
        if wanted.max_failures is None or wanted.wait or (self._place and self._place.counts_failures):
            return None
        return Failures(path, wanted.max_failures, wanted.options.get("retries", 0))

    def _find_sweep(self, client: Client, root: str) -> SweepRow:
        from duckrow.api.sweeps.sweeps import Sweeps

        sweeps = Sweeps(client)
        earlier = sweeps.at_root(root) if self._wanted.resume else []
        if earlier:
            return earlier[-1]
        pattern = " ".join([self._config.hydra.job.name, *unresolved(self._config.hydra.overrides.task)])
        return sweeps.begin(pattern, self._request().project, _sweep_name(self._wanted.name), root)

    def _request(self) -> Any:
        from duckrow.api.adding.options import read_options

        wanted = self._wanted
        return read_options(with_warm_start(wanted.options, wanted.preload, wanted.warm))

    def _submit(self, client: Client, runs: Sequence[HydraRun]) -> None:
        from duckrow.core.ports import RUNS_FOLLOW

        assert self._sweep is not None
        assert self._place is not None
        free = forget_ended(client, self._sweep.id, runs) if self._wanted.resume else list(runs)
        for run in runs:
            log.info(f"\t#{run.number} : {' '.join(filter_overrides(run.overrides))}")
        if not free:
            return
        make_ready(free)
        request = self._request()
        specs = jobs_of(free, request, self._launch_file, self._sweep.id, self._function)
        environment = {**request.environment, VARIABLE: self._launch_file}
        environment |= {RUNS_FOLLOW: "1"} if len(free) > 1 else {}
        self._place.submit(client, specs, environment)
        word = self._sweep.name if self._wanted.wait else f"{self._sweep.name}: `duckrow results {self._sweep.name}`"
        log.info(f"{len(free)} runs submitted, as the sweep {word}")

    def _leave_nothing(self, client: Client, runs: Sequence[HydraRun]) -> None:
        """If nothing was submitted, remove the sweep and the empty folders of its runs."""
        import shutil

        from duckrow.api.call import CALL
        from duckrow.api.sweeps.sweeps import Sweeps

        if self._sweep is None or not Sweeps(client).forget_empty(self._sweep):
            return
        shutil.rmtree(self._sweep.folder, ignore_errors=True)
        if self._multirun is not None:
            self._multirun.forget(runs, os.path.dirname(self._sweep.folder))
        self._sweep = None
        for run in runs:
            with suppress(OSError):  # it was never made, or has files of the user in it
                os.unlink(f"{run.folder}/{CALL}")
                os.rmdir(run.folder)

    # -- after ------------------------------------------------------------------------------------------------

    def _await(self, client: Client, runs: Sequence[HydraRun], returns: dict[str, JobReturn]) -> None:
        from duckrow.hydra.waiting import RunWaiter

        assert self._sweep is not None
        assert self._place is not None
        of_key = {run.key: run for run in runs}

        def on_end(key: str, view: JobView | None) -> None:
            returns[key] = self._returned(of_key[key], view, client.home)

        RunWaiter(client, self._sweep.id, self._place, self._wanted.max_failures, on_end).until_done(list(of_key))
        self._place.close()

    def _returned(self, run: HydraRun, view: JobView | None, home: str) -> JobReturn:
        from duckrow.api.python.handles import Job

        if view is None:
            log.info(f"\t#{run.number} did not finish")
            return self._failed(run, LauncherError(f"Run {run.number} did not finish: {self._why_not()}."))
        log.info(f"\t#{run.number} {view.outcome} after {view.duration_s or 0:.1f} s")
        try:
            returned: JobReturn = Job(view.id, view.name, home).result_of(view)
            return returned
        except Exception as error:  # what the function raised, or how else the run ended
            return self._failed(run, error if restore_traceback(error) else _as_sentence(error))

    def _why_not(self) -> str:
        assert self._place is not None
        return f"{self._wanted.max_failures} have failed" if self._wanted.max_failures else self._place.how_it_ends

    def _failed(self, run: HydraRun, error: Exception) -> JobReturn:
        returned = JobReturn(overrides=run.overrides, working_dir=run.folder, status=JobStatus.FAILED)
        returned.task_name = self._config.hydra.job.name
        returned.return_value = error
        return returned


def _as_sentence(error: Exception) -> Exception:
    """How a run ended without an exception, in duckrow's words."""
    from duckrow.core.errors import DuckrowError

    if not isinstance(error, DuckrowError):
        return error
    told = LauncherError(str(error))
    told.__cause__ = error
    return told


def _sweep_name(name: str) -> str:
    """The application's name as the name of a sweep."""
    import re

    return re.sub(r"[^A-Za-z0-9._+=,@-]+", "-", name).strip("-.")[:80] or "hydra"
