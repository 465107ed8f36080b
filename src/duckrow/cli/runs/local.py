"""`duckrow run` and `duckrow sweep --run` on this machine: jobs are run and watched until all are done."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

from duckrow.api.adding.environment import inherited_environment
from duckrow.api.machine.settings import Settings
from duckrow.cli.console import clean, say
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.typed_job_options import JobOptions, nothing_typed, read_job_options
from duckrow.cli.options.verb_options import DeviceOptions, RunOptions, WatchOptions
from duckrow.cli.runs.lines import all_commands, refuse_program, replaced, spec_maker
from duckrow.cli.views.run_events import Announcer, EventWriter, Watchers, open_events
from duckrow.cli.views.run_view import RunView, make_view
from duckrow.core.devices.device import describe_devices
from duckrow.core.devices.inventory import as_ranges, gpus_in
from duckrow.core.devices.needs import ask_of, check_needs
from duckrow.core.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import LAST
from duckrow.core.jobs.job import JobSpec, shorten
from duckrow.core.ports import Observer
from duckrow.core.schedule.placement import refusal
from duckrow.core.units import format_duration, plural
from duckrow.scheduler.hosts.run_session import (
    OtherDevices,
    SweepJobs,
    find_earlier,
    offer_of,
    offer_of_earlier,
    open_run,
    open_sweep,
    words_to_resume,
)

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.sweeps.sweeps import Todo
    from duckrow.scheduler.hosts.foreground import ForegroundRun
    from duckrow.scheduler.hosts.run_session import HostRow, Offer

_TABLE_JOBS = 40  # a longer table is not a summary


def run_plainly(file: str | None, devices: Sequence[str], slots: int | None) -> int:
    """A list of commands, without other options than which devices to use."""
    refuse_program(file)
    return run_commands(file, RunOptions(DeviceOptions(tuple(devices), slots)), read_job_options(nothing_typed()))


def run_commands(file: str | None, given: RunOptions, options: JobOptions, words: Sequence[str] | None = None) -> int:
    """On this machine. `words`: the one command after --."""
    settings, earlier = Settings(), None
    if given.resumed is not None and words is None:
        if given.resumed == LAST and file not in (None, "-") and not os.path.exists(str(file)):
            file, given = None, given._replace(resumed=file)
        earlier = find_earlier(str(given.resumed), file)
        given = given.or_as(earlier.form)
        options = replaced(options, name=options.name or earlier.chosen_name)  # of the jobs of new lines
    offer = check_devices(
        given.devices,
        settings,
        given.gpu_count,
        options,
        fill=given.fill,
        ask_sizes=given.form == "json",  # a line may request memory
        quiet=given.as_written,
        keeps_devices=earlier is not None,
    )
    given = given._replace(watch=given.watch.with_settings(settings))
    if words is not None:
        spec = _spec_here(words, given.gpu_count, options)
        if given.dry_run:
            return _dry_run([spec], offer, given.lifo, typed=[command_of(words)])
        return _run_here(spec, offer, options, given.lifo)
    spec_of = spec_maker(given, options, offer.seats, offer.machine)
    if given.dry_run:
        return _dry_run_list(file, offer, given, spec_of)
    return _run_list(file, offer, given, options, spec_of, earlier)


def check_devices(
    typed: DeviceOptions,
    settings: Settings,
    gpus: int | None,
    options: JobOptions,
    fill: bool = False,
    ask_sizes: bool = False,
    quiet: bool = False,
    keeps_devices: bool = False,
) -> Offer:
    """The devices from the options or the settings; a job must fit on one.

    `keeps_devices`: it continues an earlier run, which may have had other devices than there are without it.
    """
    chosen = typed.with_settings(settings)
    offer = offer_of(
        chosen.devices or None,
        chosen.slots,
        typed.jobs_per_gpu if options.by_memory else chosen.jobs_per_gpu,
        with_cpu_slots=False,
        policy=chosen.policy.but(fill=fill),
        by_memory=options.by_memory,
        ask_sizes=ask_sizes,
    )
    if options.memory_params is not None:
        options = replaced(options, memory_params=None)
    needs = options.needs(os.getcwd(), "job")._replace(recipe="", parameters="")
    check_needs(needs, gpus)
    why_not = refusal(ask_of(gpus, needs.as_text()), offer.seats, offer.machine, chosen_by="")
    if why_not:
        raise UsageError(f"No job can ever start. {why_not}")
    if gpus_in(offer.seats) or not (keeps_devices or quiet):
        _check_gpu_options(offer, typed, options)
    for note in () if quiet else offer.notes:
        say(f"duckrow: {note}")
    return offer


def _check_gpu_options(offer: Offer, typed: DeviceOptions, options: JobOptions) -> None:
    """`--prefer` names GPUs that may be used, none is left out because its size is unknown, and where there is no GPU,
    what was typed about GPUs is not ignored in silence: a script may be for machines with and without them."""
    about_gpus = (options.asks_for_memory, options.pack, typed.jobs_per_gpu is not None)
    if not any(about_gpus) and all(knob is None for knob in typed.knobs.values()):
        return
    from duckrow.core.devices.typed_devices import left_out_by_size, preferred_elsewhere, without_meaning

    elsewhere = preferred_elsewhere(offer.seats, offer.machine)
    if elsewhere:
        raise UsageError(elsewhere)
    if not gpus_in(offer.seats):
        note = without_meaning(typed.knobs, typed.jobs_per_gpu, options.pack)
        if note:
            say(f"duckrow: {note}")
    elif options.asks_for_memory and (left_out := left_out_by_size(offer.seats, offer.machine)):
        if typed.devices:
            raise UsageError(left_out)
        say(f"duckrow: {left_out} Without it, these jobs do not run there.")


def _run_list(
    file: str | None,
    offer: Offer,
    given: RunOptions,
    options: JobOptions,
    spec_of: Callable[[str], JobSpec],
    earlier: HostRow | None,
) -> int:
    _say_what_each_gets(offer, given, options)
    view = make_view(given.watch)
    watchers: list[Observer] = [view]
    if given.announce:
        watchers.append(Announcer(given.announce, offer.written if given.as_written else {}))
    events = EventWriter(open_events(given.events)) if given.events else None
    watchers += [events] if events is not None else []
    run = open_run(
        offer,
        view if len(watchers) == 1 else Watchers(watchers),
        spec_of,
        chosen=_chosen(given.devices, options),  # a resumed run keeps its devices, whatever the settings say
        name=options.name,
        file=file,
        form=given.list_form,
        earlier=earlier,
        environment=inherited_environment(dict(options.variables), with_device_order=given.as_written),
        output="inherit" if given.watch.passthrough else "log",
        max_failures=given.watch.max_failures,
        on_event=view.event,
        once=given.once,
    )
    view.attach(run)
    run.by_memory = options.by_memory
    if given.as_written:
        run.loop.write_devices_as(offer.written)
    if events is not None:
        events.host_id = run.host_id
    if given.lifo:
        run.last_freed_first()
    if given.announce:
        run.start_one_by_one()
    if run.source is not None and run.source.is_terminal:
        say("duckrow: reading commands from the terminal, one per line. End with Ctrl-D.")
    return _see_through(run, view, given.watch.table, list if given.once else _again(run, file), given.once)


def _say_what_each_gets(offer: Offer, given: RunOptions, options: JobOptions) -> None:
    """Say how many GPUs each job gets, and from which, before anything runs, so that people notice a wrong number."""
    seats = [seat for seat in offer.seats if not seat.is_cpu]
    if not seats or given.watch.passthrough or given.form == "json":
        return
    gpus = list(dict.fromkeys(device for seat in seats for device in seat.devices))
    sizes = sorted({seat.gpu_count for seat in seats}) if given.gpu_count is None else [given.gpu_count]
    each = f"{' or '.join(map(str, sizes))} {'GPU' if sizes == [1] else 'GPUs'}"
    learns_nothing = options.learns_memory and offer.is_unseen
    if options.by_memory and not learns_nothing:
        each = f"part of {'a GPU' if sizes == [1] else each}, by memory"
    limit = " (CUDA_VISIBLE_DEVICES)" if offer.is_limited else ""
    given_out = f"{'GPU' if len(gpus) == 1 else 'GPUs'} {as_ranges(gpus)}{limit}"
    say(f"duckrow: each job: {'a CPU slot' if sizes == [0] else each}, out of {given_out}.")
    if learns_nothing:
        say("duckrow: without a driver, nobody sees what jobs use, so they share no GPU. To share: --gpu-mem 10G")


def _again(run: ForegroundRun, file: str | None) -> Callable[[], list[str]]:
    """At its end, the command that runs the unsuccessful jobs again. It keeps the devices, and how the list is read."""
    here = os.getcwd()  # a run changes folders
    list_file = os.path.join(here, file) if file and file != "-" else file
    return lambda: ["duckrow", "run", *words_to_resume(run, list_file, here)]


def _see_through(
    run: ForegroundRun, view: RunView, wants_table: bool | None, again: Callable[[], Sequence[str]], once: bool = False
) -> int:
    """Run everything and print the summary; returns the exit code.

    `again` gives the words of the command that runs unsuccessful jobs again. `once`: jobs that did not start are not
    kept for that.
    """
    view.open()
    try:
        run.go(view.pulse_s, view.pulse)
        if once:
            run.drop_rest()
        words = again() if view.report.failed or _left(run, view) else ()
    finally:
        view.close()
        run.close()
    _summarise(run, view, wants_table, words)
    if run.interrupts:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if view.report.failed or run.refused or _left(run, view) else EXIT_OK


def run_sweep(
    offer: Offer,
    sweep_id: int,
    name: str,
    specs: Sequence[JobSpec],
    todo: Todo,
    devices: DeviceOptions,
    watch: WatchOptions,
    options: JobOptions,
    again: Sequence[str],
) -> int:
    """Run a sweep here and now."""
    view = make_view(watch)
    run = open_sweep(
        offer,
        view,
        SweepJobs(sweep_id, name, specs, todo.again, todo.stranded),
        chosen=_chosen(devices, options),
        environment=inherited_environment(dict(options.variables)),
        max_failures=watch.max_failures,
        on_event=view.event,
    )
    view.attach(run)
    run.by_memory = options.by_memory
    return _see_through(run, view, watch.table, lambda: again)


def keeps_devices(sweep_id: int | None, devices: DeviceOptions, options: JobOptions) -> bool:
    """Whether the sweep runs on the devices of an earlier run of it."""
    return sweep_id is not None and offer_of_earlier(sweep_id, _chosen(devices, options)) is not None


def dry_run_sweep(
    offer: Offer, sweep_id: int | None, specs: Sequence[JobSpec], devices: DeviceOptions, options: JobOptions
) -> int:
    """Say what would run where. `sweep_id`: of an existing sweep, which keeps its devices."""
    earlier = None if sweep_id is None else offer_of_earlier(sweep_id, _chosen(devices, options))
    return _dry_run(specs, earlier or offer, last_freed_first=False)


def _chosen(typed: DeviceOptions, options: JobOptions) -> OtherDevices:
    return OtherDevices(typed.is_chosen, typed.knobs, typed.jobs_per_gpu, options.by_memory)


def _left(run: ForegroundRun, view: RunView) -> int:
    return max(run.added - view.report.finished, 0) + run.unlisted


def _summarise(run: ForegroundRun, view: RunView, wants_table: bool | None, again: Sequence[str]) -> None:
    report = view.report
    if wants_table or (wants_table is None and sys.stderr.isatty() and 0 < report.finished <= _TABLE_JOBS):
        from duckrow.api.client import Client
        from duckrow.cli.views.job_table import print_jobs

        with Client() as client:
            print_jobs(client.of_host(run.host_id))
        sys.stdout.flush()
    known = run.added + run.succeeded_before + run.refused + run.skipped
    if run.source is not None and not known and not run.interrupts:
        say("duckrow: there was no command to run: blank lines and lines that begin with # do not count.")
    left = _left(run, view)
    elapsed_s = time.monotonic() - view.began_mono
    say(f"duckrow: {report.headline(elapsed_s, left, run.succeeded_before, run.refused, run.skipped)}")
    shared = _packing(run, view)
    if shared:
        say(f"duckrow: {shared}")
    for line in report.failure_lines():
        say(line)
    if again:
        from shlex import join  # most runs need none

        say(f"duckrow: to run again what did not succeed: {join(again)}")


def _packing(run: ForegroundRun, view: RunView) -> str:
    """What sharing GPUs gained, if jobs shared any."""
    gpus = {device for seat in run.loop.state.seats if not seat.is_cpu for device in seat.devices}
    elapsed_s = time.monotonic() - view.began_mono
    at_a_time = view.report.total_s / max(elapsed_s, 0.001)
    if not gpus or not run.by_memory or at_a_time < len(gpus) * 1.05:
        return ""
    return f"packed: {at_a_time:.1f} jobs at a time on {plural(len(gpus), 'GPU')}, on average."


def _spec_here(words: Sequence[str], gpus: int | None, options: JobOptions) -> JobSpec:
    """The one command after --."""
    # The program replaces its shell, which otherwise would die of a Ctrl-C that the program handles.
    return options.spec(command_of(words) if len(words) == 1 else f"exec {command_of(words)}", gpus)


def _run_here(spec: JobSpec, offer: Offer, options: JobOptions, last_freed_first: bool) -> int:
    """One command in this terminal: its input, its output, its exit code."""
    view = RunView(is_of_list=False)
    run = open_run(
        offer,
        view,
        lambda _: spec,
        name=options.name,
        environment=inherited_environment(dict(options.variables)),
        output="terminal",
        on_event=lambda what, detail: view.event(what, detail) if what in ("waiting", "paused") else None,
    )
    view.attach(run)
    if last_freed_first:
        run.last_freed_first()
    run.take(CommandList([spec.command]))
    run.go()
    never_began = _left(run, view)
    if never_began:
        run.drop_rest()  # whoever gives up waiting wants it no more
    run.close()
    if never_began:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if view.last_code is None else view.last_code


def _dry_run_list(file: str | None, offer: Offer, given: RunOptions, spec_of: Callable[[str], JobSpec]) -> int:
    """A line that the run would refuse is refused here too, and the others are shown."""
    specs, refused = list[JobSpec](), 0
    listed = all_commands(file, given.list_form)
    for number, command in enumerate(listed.commands):
        try:
            specs.append(spec_of(command))
        except UsageError as error:
            refused += 1
            say(f"duckrow: {listed.told(number, error)}")
    return _dry_run(specs, offer, given.lifo, refused)


def _dry_run(
    specs: Sequence[JobSpec],
    offer: Offer,
    last_freed_first: bool,
    refused: int = 0,
    typed: Sequence[str] | None = None,
) -> int:
    """Say what would run where, in the order of the starts. `typed`: what to show in place of the commands."""
    from duckrow.scheduler.simulation.preview import preview

    starts, order, waits_for = preview(specs, offer, last_freed_first)
    for number in order:
        where = describe_devices(starts[number]) if number in starts else "next free"
        limit_s, command = specs[number].timeout_s, specs[number].command if typed is None else typed[number]
        limit = f"  (limit {format_duration(limit_s)})" if limit_s else ""
        print(f"{where:<10}  {clean(shorten(command, 200))}{limit}")
    not_taken = f", {refused} refused" if refused else ""
    now = _how_many_start(len(starts), len(specs), "; ".join(waits_for))
    say(f"duckrow: {plural(len(specs), 'job')}{not_taken}.{now} Nothing was run.")
    return EXIT_FAILED if refused else EXIT_OK


def _how_many_start(starting: int, jobs: int, waits_for: str) -> str:
    """In words. Devices are not counted: how many jobs they hold depends on the jobs."""
    why = f": {waits_for}" if waits_for else ""
    if not jobs:
        return ""
    if jobs == 1:
        return " It would start now." if starting else f" It would not start now{why}."
    return f" {starting if 0 < starting < jobs else 'All' if starting else 'None'} of them would start now{why}."
