"""The verbs, what else they are called, and what other tools call them."""

from __future__ import annotations

# The verbs in the order of the help, each with its line there, so that showing help loads none of them.
VERBS = {
    "run": "Run commands from a file or a pipe, here and now.",
    "sweep": "Run a command over a grid of parameters.",
    "submit": "Add a job, or thousands, to the daemon's queue.",
    "ls": "List jobs.",
    "show": "Show everything about a job.",
    "logs": "Show the output of jobs.",
    "results": "Show the runs of a sweep: parameters, metrics, how they went.",
    "report": "Record metrics of a run, from a shell script.",
    "why": "Say why a job is not running.",
    "wait": "Wait until jobs are done; the exit code tells success.",
    "kill": "Stop jobs, with all their processes.",
    "rerun": "Put jobs that are done back into the queue.",
    "hold": "Hold waiting jobs back.",
    "release": "Let held jobs start.",
    "priority": "Change which jobs come first.",
    "move": "Change the order of waiting jobs.",
    "edit": "Change a job that waits.",
    "rm": "Forget jobs that wait or are done.",
    "clean": "Forget jobs that have been done for long, and what ended runs have left.",
    "pause": "Start nothing more, of all or of a project; or pause jobs.",
    "resume": "Go on after a pause.",
    "batches": "Show the batches of runs on clusters.",
    "limit": "Limit how many jobs of a project run at a time.",
    "gpus": "Show the devices, add, drain and remove them.",
    "memory": "Show, correct and forget what was learned about the GPU memory of jobs.",
    "web": "Show the queue in a browser, and steer it.",
    "up": "Start the daemon.",
    "down": "Stop the daemon; running jobs go on.",
    "config": "Show the settings and where they come from.",
    "doctor": "Check this installation and say what to do.",
    "dropin": "Stand in for an older tool: simple_gpu_scheduler, simple_hypersearch, gpupeasy.",
    "completion": "Print the completion script of a shell.",
}
# The words of Slurm and pueue that are in people's fingers.
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
    "group": "a project: duckrow submit --project thesis, duckrow limit thesis 2",
}
