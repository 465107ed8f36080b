"""How long does a device stand idle between two jobs? From the last instruction of one to the first of the next."""

from __future__ import annotations

import os
import statistics
import subprocess
from itertools import pairwise
from pathlib import Path

from benchmarks.measure import DUCKROW, own_duckrow
from benchmarks.ratios import note

JOBS = 200
# Writes its slot, its first and its last moment, with 30 ms between them: each end is written at once.
STAMP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
    double began = now();
    usleep(30000);
    char line[200];
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    const char *slot = getenv("SLOT") ? getenv("SLOT") : getenv("CUDA_VISIBLE_DEVICES");
    int size = snprintf(line, sizeof line, "%s %.9f %.9f\n", slot, began, now());
    return write(fd, line, size) != size;
}
"""


def main() -> None:
    with own_duckrow() as folder:
        stamp = compile_stamp(folder)
        if stamp is None:
            print("\nThe gap needs a C compiler (cc) to be measured.")
            return
        print(f"\nIdle gap between two jobs of 30 ms on a device, 2 devices, {JOBS} jobs, ms: median, 99th percentile")
        commands = folder / "commands"
        found: list[tuple[float, float]] = []
        for name, command in (
            ("xargs -P2", ["xargs", "-P2", "--process-slot-var=SLOT", "-I{}", "sh", "-c", "{}"]),
            ("duckrow run --devices 0,1", [DUCKROW, "run", "--devices", "0,1"]),
        ):
            stamps = folder / f"stamps-{os.path.basename(command[0])}"
            commands.write_text(f"{stamp} {stamps}\n" * JOBS)
            with commands.open() as stdin:
                subprocess.run(command, stdin=stdin, stderr=subprocess.DEVNULL, check=True)
            gaps_ms = [gap * 1000 for gap in gaps(stamps)]
            found.append((statistics.median(gaps_ms), statistics.quantiles(gaps_ms, n=100)[98]))
            print(f"  {name:<34} {found[-1][0]:6.2f} {found[-1][1]:6.2f}")
        floor, ours = found
        note("idle gap, median: duckrow run / xargs -P2", ours[0] / floor[0])
        note("idle gap, 99th percentile: duckrow run / xargs -P2", ours[1] / floor[1])


def compile_stamp(folder: Path) -> Path | None:
    source, program = folder / "stamp.c", folder / "stamp"
    source.write_text(STAMP)
    try:
        subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program


def gaps(stamps: Path) -> list[float]:
    by_slot: dict[str, list[tuple[float, float]]] = {}
    for line in stamps.read_text().split("\n")[:-1]:
        slot, began, ended = line.split()
        by_slot.setdefault(slot, []).append((float(began), float(ended)))
    found = []
    for moments in by_slot.values():
        moments.sort()
        found += [later[0] - earlier[1] for earlier, later in pairwise(moments)]
    return found


if __name__ == "__main__":
    main()
