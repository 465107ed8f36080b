"""The verbs, what else they are called, and what other tools call them."""

from __future__ import annotations

# The verbs in the order of the help, each with its line there, so that showing help loads none of them.
VERBS = {
    "run": "Run commands from a file or a pipe, here and now.",
    "sweep": "Run a command for every combination of its parameters.",
    "submit": "Add a job, or thousands, to the daemon's queue.",
    "ls": "List jobs.",
    "show": "Show everything about a job.",
    "logs": "Show the output of jobs.",
    "results": "Show the runs of a sweep: parameters, metrics, outcomes.",
    "report": "Record metrics of a run, from a shell script.",
    "why": "Say why a job is not running.",
    "wait": "Wait until jobs are done; the exit code says whether they succeeded.",
    "kill": "Stop jobs, with all their processes.",
    "rerun": "Run finished jobs again.",
    "hold": "Keep queued jobs from starting.",
    "release": "Let held jobs start.",
    "priority": "Change the priority of queued jobs.",
    "move": "Change the order of queued jobs.",
    "edit": "Change a queued job.",
    "rm": "Forget queued or finished jobs.",
    "clean": "Forget old jobs, and what interrupted runs have left.",
    "pause": "Pause the queue, a project or single jobs.",
    "resume": "Continue after a pause.",
    "batches": "Show the batches of runs on clusters.",
    "limit": "Limit how many jobs of a project run at a time.",
    "gpus": "Show, add, drain and remove devices.",
    "memory": "Show and correct what duckrow knows about the GPU memory of jobs.",
    "simulate": "Simulate how a trace of jobs would go on other GPUs.",
    "web": "See and control the queue in a browser.",
    "up": "Start the daemon.",
    "down": "Stop the daemon; running jobs keep running.",
    "config": "Show the settings and where they come from.",
    "doctor": "Check this installation and suggest fixes.",
    "dropin": "Run an older tool's own command: simple_gpu_scheduler, simple_hypersearch, gpupeasy.",
    "completion": "Print the completion script for a shell.",
}
# Those that `duckrow --help` explains, so that it fits a screen; it names the others.
EVERYDAY = (
    *("run", "sweep", "submit", "ls", "show", "logs", "results", "why", "wait", "kill", "rerun"),
    *("gpus", "web", "up", "down", "doctor"),
)
# Words of Slurm and pueue that people are used to.
ALIASES = {
    "add": "submit",
    "status": "ls",
    "queue": "ls",
    "log": "logs",
    "follow": "logs -f",
    "cancel": "kill",
    "restart": "rerun",
}
ALIAS_LINES = {alias: f"Same as {words}." for alias, words in ALIASES.items()}

# What other tools call it, where ours works differently, with what to type here.
ELSEWHERE = {
    "sbatch": "duckrow submit script.sh",
    "srun": "duckrow run -- python train.py",
    "squeue": "duckrow ls",
    "scancel": "duckrow kill 12",
    "ps": "duckrow ls",
    "start": "duckrow up (the daemon), duckrow release 12 (a held job) or duckrow resume (after a pause)",
    "stop": "duckrow kill 12 (a job) or duckrow down (the daemon)",
    "stash": "duckrow hold 12",
    "enqueue": "duckrow release 12",
    "parallel": "duckrow run commands.txt (a list) or duckrow limit (how many of a project run at a time)",
    "group": "a project: duckrow submit --project thesis, duckrow limit thesis --max-running 2",
}
