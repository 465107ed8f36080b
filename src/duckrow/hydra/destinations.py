"""Where runs go: into the daemon's queue, or to a `duckrow run` of their own with its own devices."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import subprocess  # where it is needed: every Hydra application loads this module

    from duckrow.api.client import Client
    from duckrow.core.jobs.job import JobSpec


class Destination(Protocol):
    look_s: float  # how often to look, even if nothing seems to have changed
    counts_failures: bool  # whether it stops starting runs after max_failures, even if nobody waits
    how_it_ends: str  # why it no longer starts queued runs, in words

    def submit(self, client: Client, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> None: ...

    def is_over(self, client: Client) -> bool:
        """Whether nobody is left to start the queued runs."""
        ...

    def stop(self, client: Client, ids: Sequence[int]) -> None:
        """Stop these jobs, and start nothing more."""
        ...

    def close(self) -> None:
        """All that was submitted has ended."""
        ...


class DaemonQueue:
    """The runs share the daemon's devices with all other jobs, and continue without the launcher."""

    look_s = 1.0
    counts_failures = False
    how_it_ends = "the daemon has ended"

    def __init__(self, parallel: int | None) -> None:
        self._parallel = parallel

    def submit(self, client: Client, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> None:
        if self._parallel is not None:
            for index, spec in enumerate(specs):
                spec.array_index = index  # only arrays can limit how many run at a time
        from duckrow.api.jobs.submit import submit_jobs

        submit_jobs(client, specs, environment, array_limit=self._parallel)

    def is_over(self, client: Client) -> bool:
        return False  # if the daemon dies, the next command starts another

    def stop(self, client: Client, ids: Sequence[int]) -> None:
        if ids:
            from duckrow.api.jobs.kill import kill

            kill(client, ids, answered=False)

    def close(self) -> None:
        pass


class OwnRun:
    """A `duckrow run` that divides devices in its own way. It continues if the launcher ends.

    `devices`: its options. `options`: those of all runs, as in duckrow.submit.
    """

    counts_failures = True
    look_s = 0.2  # the database does not show its own end
    how_it_ends = "the `duckrow run` that had it has ended"

    def __init__(
        self, folder: str, devices: Sequence[str], options: Mapping[str, Any], max_failures: int | None
    ) -> None:
        self._folder, self._devices, self._options = folder, devices, options
        self._limit = [] if max_failures is None else [f"--max-failures={max_failures}"]
        self._processes: list[subprocess.Popen[bytes]] = []

    def submit(self, client: Client, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> None:
        import subprocess

        from duckrow.api.calls.interpreter import module_command

        number = len(os.listdir(self._folder))
        path = f"{self._folder}/jobs-{number}.jsonl"
        with open(path, "w") as file:
            file.writelines(json.dumps(self._line(spec)) + "\n" for spec in specs)
        words = ["--format=json", "--no-follow", "--no-table", *self._limit, *self._devices, path]
        with open(f"{self._folder}/run-{number}.log", "ab") as log:
            self._processes.append(
                subprocess.Popen(
                    module_command("duckrow", "run", *words),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **environment},
                    start_new_session=True,
                )
            )

    def _line(self, spec: JobSpec) -> dict[str, Any]:
        keys = ("gpus", "gpu_mem", "total_gpu_mem", "cpus", "mem", "retries", "priority", "timeout")
        line = {key: self._options[key] for key in keys if self._options.get(key) is not None}
        line |= {key: getattr(spec, key) for key in ("command", "name", "project", "cwd", "folder")}
        if spec.preload is not None:
            line["preload"] = spec.preload
        assert spec.point is not None
        # The command names only the folder of the call, but not which function it calls.
        recipe = spec.needs.recipe.removeprefix(f"{spec.cwd}: ")
        return {**line, "point": {**spec.point._asdict(), **({"pattern": recipe} if recipe else {})}}

    def is_over(self, client: Client) -> bool:
        return all(process.poll() is not None for process in self._processes)

    def stop(self, client: Client, ids: Sequence[int]) -> None:
        import signal

        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGTERM)
        if ids:
            from duckrow.api.jobs.kill import kill

            kill(client, ids, answered=False)

    def close(self) -> None:
        for process in self._processes:
            process.wait()
        self._processes.clear()
