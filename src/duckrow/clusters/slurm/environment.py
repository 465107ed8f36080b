"""The environment of runs on a cluster: the first lines of a SLURM job's script, containers, several nodes."""

from __future__ import annotations

import shlex

from duckrow.core.clusters.request import ClusterRequest

# Not /etc/profile, which would drop the PATH of the user who submits.
_DEFINE_MODULE = (
    'type module >/dev/null 2>&1 || for file in "$MODULESHOME/init/bash" "$LMOD_PKG/init/bash" '
    "/etc/profile.d/{lmod,z00_lmod,modules}.sh /usr/share/{modules,lmod/lmod}/init/bash; do "
    '[ -r "$file" ] && source "$file" && break; done'
)
_FIRST_PORT, _PORTS = 20000, 20000  # one of them for each SLURM job
_BEGIN_S = 60  # how long one that has failed waits for the others to begin
_PROGRAM = '"$(command -v apptainer || command -v singularity)"'


def setup_lines(request: ClusterRequest) -> list[str]:
    """Lines of bash. If something is not available, the SLURM job ends at once, with the reason in its log."""
    lines: list[str] = []
    if request.modules:
        lines.append(_DEFINE_MODULE)
        lines += [f"module load {shlex.quote(module)} || exit 1" for module in request.modules]
    if request.conda:
        lines.append(f'eval "$(conda shell.bash hook)" && conda activate {shlex.quote(request.conda)} || exit 1')
    return [*lines, *request.setup]


def wrapped(request: ClusterRequest, command: str) -> str:
    """What a pilot runs for the command of a run."""
    within = command if request.container is None else in_container(request.container, command)
    return within if request.nodes == 1 else on_nodes(request.nodes, within)


def in_container(image: str, command: str) -> str:
    """The command of a run, in a container that sees its folders, and its GPUs if it has any."""
    words = [_PROGRAM, "exec", "${CUDA_VISIBLE_DEVICES:+--nv}", '--bind "$PWD" --bind "$DUCKROW_RUN_DIR"']
    return " ".join([*words, shlex.quote(image), "/bin/sh", "-c", shlex.quote(command)])


def on_nodes(nodes: int, command: str) -> str:
    """The command of a run on each node of its SLURM job, with what torchrun must know about the others.

    SLURM starts and ends them together: if one fails, the others are killed.
    """
    master = '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"'
    port = f"$(({_FIRST_PORT} + SLURM_JOB_ID % {_PORTS}))"
    known = f"export MASTER_ADDR={master} MASTER_PORT={port} NNODES={nodes} PET_NNODES={nodes}"
    also = 'export PET_MASTER_ADDR="$MASTER_ADDR" PET_MASTER_PORT="$MASTER_PORT"'
    own = 'export NODE_RANK="$SLURM_NODEID" PET_NODE_RANK="$SLURM_NODEID"'
    cores = "${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}"
    srun = f"srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --kill-on-bad-exit=1 --overlap {cores}"
    each = shlex.quote(f"{own}; {_fails_when_all_have_begun(nodes, command)}")
    return f"{known}; {also}; exec {srun} /bin/sh -c {each}"


def _fails_when_all_have_begun(nodes: int, command: str) -> str:
    """srun kills the others when one fails, but not one that has not begun yet: that one would run on by itself.

    The shell that waits outlives signals, so that the command can make use of them.
    """
    begun = (
        'begun="$DUCKROW_RUN_DIR/.nodes/$SLURM_JOB_ID.$SLURM_STEP_ID"; mkdir -p "$begun"; touch "$begun/$SLURM_NODEID"'
    )
    waits = f'[ $code -ne 0 ] && [ $waited -lt {_BEGIN_S} ] && [ "$(ls "$begun" | wc -l)" -lt {nodes} ]'
    return (
        f"{begun}; trap : HUP INT QUIT USR1 USR2 TERM; /bin/sh -c {shlex.quote(command)}; code=$?; waited=0; "
        f"while {waits}; do sleep 1; waited=$((waited + 1)); done; exit $code"
    )
