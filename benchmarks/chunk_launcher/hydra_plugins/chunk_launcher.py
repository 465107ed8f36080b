"""A Hydra launcher that works as clusterduck does, to be measured beside duckrow's; it survives nothing.

clusterduck itself is in no package index with its code. What it does is known: the runs are cut into chunks, each chunk
is a SLURM job of submitit, and within it a slot that is free forks a process for the next run, which composes its
configuration and runs it.
"""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
from hydra.core.config_store import ConfigStore
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from omegaconf import open_dict

CONFIG = {
    "_target_": "hydra_plugins.chunk_launcher.ChunkLauncher",
    "parallel_runs": 4,
    "runs_per_job": 50,
    "folder": "${hydra.sweep.dir}/.submitit",
}
ConfigStore.instance().store(group="hydra/launcher", name="chunks", node=CONFIG, provider="benchmark")


class ChunkLauncher(Launcher):
    def __init__(self, parallel_runs: int, runs_per_job: int, folder: str) -> None:
        self._parallel_runs = parallel_runs
        self._runs_per_job = runs_per_job
        self._folder = folder

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        self._context, self._function, self._config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        import submitit

        executor = submitit.AutoExecutor(folder=self._folder)
        executor.update_parameters(timeout_min=10, cpus_per_task=self._parallel_runs)
        runs = list(enumerate(map(list, job_overrides), initial_job_idx))
        chunks = [runs[first : first + self._runs_per_job] for first in range(0, len(runs), self._runs_per_job)]
        state = Singleton.get_state()
        jobs = executor.map_array(lambda chunk: self._run_chunk(chunk, state), chunks)
        return [result for job in jobs for result in job.result()]

    def _run_chunk(self, chunk: list[tuple[int, list[str]]], state: Any) -> list[JobReturn]:
        Singleton.set_state(state)
        setup_globals()
        with ThreadPoolExecutor(self._parallel_runs) as slots:
            return list(slots.map(self._in_process, chunk))

    def _in_process(self, run: tuple[int, list[str]]) -> JobReturn:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._answer, args=(theirs, run))
        process.start()
        theirs.close()
        result: JobReturn = pickle.loads(ours.recv_bytes())
        process.join()
        return result

    def _answer(self, to: Any, run: tuple[int, list[str]]) -> None:
        to.send_bytes(cloudpickle.dumps(self._run(*run)))

    def _run(self, number: int, overrides: list[str]) -> JobReturn:
        config = self._context.config_loader.load_sweep_config(self._config, overrides)
        with open_dict(config):
            config.hydra.job.id, config.hydra.job.num = str(number), number
        return run_job(
            hydra_context=self._context,
            task_function=self._function,
            config=config,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )
