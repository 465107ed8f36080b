// What the server sends and takes, written by `python -m tests.web.page_types` from its OpenAPI description.

declare namespace Api {
  interface Action {
    action: "kill" | "rerun" | "hold" | "release" | "pause" | "resume" | "remove" | "priority" | "first" | "last" | "before" | "place";
    ids?: number[] | null;
    select?: string | null;
    priority?: number | null;
    before?: number | null;
    changes?: { [name: string]: unknown } | null;
    places?: [number, number, number][];
    now?: boolean;
  }
  interface Added {
    ids: number[];
  }
  interface Attempt {
    number: number;
    state: State;
    devices: string[];
    log: string;
    started_at: number;
    ended_at: number | null;
    duration_s: number;
    pid: number | null;
    exit_code: number | null;
    signal: number | null;
    outcome: Outcome | null;
    peak_memory_mb: number | null;
    host_peak_mb: number | null;
    utilization: number | null;
    gpu_seconds: number;
    curve: ([number, number | null, number | null])[];
    detail: string;
  }
  interface Bar {
    job: number;
    attempt: number;
    name: string;
    project: string;
    host: string;
    started_at: number;
    ended_at: number | null;
    outcome: Outcome | null;
    share: number;
    reserved_mb: number | null;
  }
  interface Batch {
    name: string;
    folder: string;
    runs: number;
    running: number;
    done: number;
    failed: number;
    jobs: string;
    still: string;
  }
  interface Batches {
    items: Batch[];
  }
  interface BegunSweep {
    sweep: number;
    name: string;
    summary: string;
    ids: number[];
  }
  interface ChangedPeak {
    recipe: string;
    model: string;
    peak_mb: number;
  }
  interface ChangedPeaks {
    changed: ChangedPeak[];
  }
  interface Changes {
    changes?: { [name: string]: unknown };
  }
  interface Cleaned {
    ids: number[];
    removed: boolean;
  }
  interface Cleaning {
    older_than: string | number;
    dry_run?: boolean;
  }
  interface Code {
    commit: string;
    branch: string | null;
    dirty: boolean;
  }
  interface Correction {
    recipe: string;
    size: string | number;
    model?: string | null;
  }
  interface Curve {
    attempt: number | null;
    points: CurvePoint[];
    reserved_mb: number | null;
  }
  interface CurvePoint {
    at: number;
    memory_mb: number | null;
    utilization: number | null;
  }
  interface Daemon {
    running: boolean;
    pid?: number | null;
    since?: number | null;
    home?: string | null;
  }
  interface Deed {
    done: number[];
    refused: Refusal[];
    undo: { [name: string]: unknown } | null;
  }
  interface Dependency {
    id: number;
    condition: string;
    met: boolean;
  }
  interface DeviceCard {
    name: string;
    kind: "gpu" | "cpu";
    index: number | null;
    uuid: string | null;
    model: string | null;
    host: string;
    total_mb: number | null;
    free_mb: number | null;
    used_mb: number | null;
    foreign_mb: number | null;
    reserved_mb: number | null;
    utilization: number | null;
    temperature: number | null;
    state: "free" | "busy" | "draining" | "foreign" | "missing" | "set-aside" | "asked" | "unattended";
    why: string | null;
    jobs: JobOnDevice[];
    foreign: ForeignProcess[];
    jobs_per_gpu: number | null;
  }
  interface DeviceCards {
    items: DeviceCard[];
    read_at: number;
  }
  interface DeviceCurve {
    name: string;
    points: ([number, number | null, number | null, number | null])[];
  }
  interface DeviceHistory {
    items: DeviceCurve[];
  }
  interface Elsewhere {
    folder: string;
  }
  interface End {
    kill?: boolean;
  }
  interface Ended {
    ended: boolean;
    still_running: number;
  }
  interface Error {
    error: { sentence: string; hint: string | null };
  }
  interface ErrorGroup {
    error: string;
    outcome: Outcome;
    exit: string[];
    count: number;
    ids: number[];
    lines: string[];
    rerun: string;
  }
  interface ErrorGroups {
    items: ErrorGroup[];
    left_out: number;
  }
  interface Event {
    at: number;
    before: string;
    after: string;
    outcome: Outcome | null;
    attempt: number | null;
    detail: string;
    text: string;
  }
  interface Finding {
    check: string;
    level: string;
    found: string;
    advice: string;
  }
  interface Findings {
    items: Finding[];
    problems: number;
  }
  interface ForeignProcess {
    pid: number;
    user: string | null;
    command: string | null;
    used_mb: number | null;
  }
  interface Hit {
    at: number;
    line: string;
  }
  interface Hits {
    hits: Hit[];
    next: number | null;
    complete: boolean;
  }
  interface Host {
    id: number;
    name: string;
    kind: string;
    alive: boolean;
  }
  interface JobDetails {
    id: number;
    name: string;
    project: string;
    command: string;
    cwd: string;
    state: State;
    outcome: Outcome | null;
    exit_code: number | null;
    signal: number | null;
    gpus: number | null;
    devices: string[];
    pid: number | null;
    attempts: number;
    priority: number;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    duration_s: number | null;
    peak_memory_mb: number | null;
    log: string | null;
    host: string;
    detail: string;
    timeout_s: number | null;
    retries: number;
    requeue_lost: boolean;
    held: boolean;
    not_before: number | null;
    eta_s: number | null;
    run_ended: boolean;
    folder: string | null;
    sweep: string | null;
    utilization: number | null;
    gpu_seconds: number | null;
    parameters: { [name: string]: unknown } | null;
    outfile: string | null;
    suspended: boolean;
    array_id: number | null;
    array_index: number | null;
    title: string;
    after: Dependency[];
    attempts_list: Attempt[];
    events: Event[];
    needs: Needs;
    environment_names: string[];
    code: Code | null;
    run_folder: string;
    sweep_id: number | null;
    error: string[];
  }
  interface JobOnDevice {
    id: number;
    name: string;
    project: string | null;
    pid: number | null;
    state: State;
    share: number;
    reserved_mb: number | null;
    used_mb: number | null;
    for_s: number;
  }
  interface JobPage {
    items: JobView[];
    total: number;
    page: number;
    per_page: number;
    counts: { [name: string]: number };
  }
  interface JobView {
    id: number;
    name: string;
    project: string;
    command: string;
    cwd: string;
    state: State;
    outcome: Outcome | null;
    exit_code: number | null;
    signal: number | null;
    gpus: number | null;
    devices: string[];
    pid: number | null;
    attempts: number;
    priority: number;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    duration_s: number | null;
    peak_memory_mb: number | null;
    log: string | null;
    host: string;
    detail: string;
    timeout_s: number | null;
    retries: number;
    requeue_lost: boolean;
    held: boolean;
    not_before: number | null;
    eta_s: number | null;
    run_ended: boolean;
    folder: string | null;
    sweep: string | null;
    utilization: number | null;
    gpu_seconds: number | null;
    parameters: { [name: string]: unknown } | null;
    outfile: string | null;
    suspended: boolean;
    array_id: number | null;
    array_index: number | null;
    title: string;
  }
  interface Lane {
    device: string;
    bars: Bar[];
  }
  interface Limit {
    project: string;
    max_running?: number | null;
  }
  interface Limited {
    project: string;
    max_running: number | null;
  }
  interface ListedSweep {
    id: number;
    name: string;
    project: string;
    runs: number;
    total: number;
    succeeded: number;
    failed: number;
    running: number;
    waiting: number;
    counts: { [name: string]: number };
    created_at: number;
    pattern: string;
    folder: string;
  }
  interface LogPiece {
    text: string;
    from: number;
    to: number;
    size: number;
    ended: boolean;
    attempt: number | null;
  }
  interface MetricCurves {
    metric: string;
    series: MetricSeries[];
    truncated: boolean;
  }
  interface MetricOfJob {
    metric: string;
    last: unknown;
    points: [number, unknown][];
  }
  interface MetricSeries {
    job: number;
    name: string;
    points: [number, unknown][];
  }
  interface MetricsOfJob {
    items: MetricOfJob[];
    truncated: boolean;
  }
  interface Needs {
    gpu_mem_mb?: number | null;
    total_gpu_mem_mb?: number | null;
    auto?: boolean | null;
    recipe?: string | null;
    cpus?: number | null;
    mem_mb?: number | null;
    mem_limit?: boolean | null;
    ooms?: number | null;
    alone?: boolean | null;
    larger_than_mb?: number | null;
  }
  interface NewDevices {
    names: string[];
  }
  interface NewJobs {
    text: string;
    options?: { [name: string]: unknown };
    array?: string | null;
    delimiter?: string | null;
    root?: string | null;
    snapshot?: boolean;
  }
  interface NewSweep {
    pattern: string;
    parameters?: { [name: string]: string | (string | number | boolean)[] } | ({ [name: string]: string | (string | number | boolean)[] })[];
    mode?: string | null;
    n_samples?: number | null;
    seed?: number;
    root?: string | null;
    snapshot?: boolean;
    options?: { [name: string]: unknown };
  }
  interface Noted {
    noted: number;
  }
  interface Oblivion {
    recipe?: string | null;
    all?: boolean;
  }
  type Outcome = "succeeded" | "failed" | "out-of-memory" | "timed-out" | "killed" | "lost" | "skipped";
  interface Pause {
    project?: string | null;
    stop_running?: boolean;
  }
  interface Paused {
    sentence: string;
    suspended: number;
  }
  interface Peak {
    number: number;
    recipe: string;
    model: string;
    peak_mb: number;
    runs: number;
    corrected: boolean;
    at: number;
  }
  interface Peaks {
    items: Peak[];
  }
  interface Preview {
    jobs: PreviewedJob[];
    problems: string[];
  }
  interface PreviewedJob {
    name: string;
    command: string;
    array_index: number | null;
    words: string[];
    note: string | null;
    outfile: string | null;
    placement: string;
    problems: string[];
  }
  interface Project {
    name: string;
    counts: { [name: string]: number };
    limit: number | null;
  }
  interface Reasons {
    reasons: string[];
  }
  interface Refusal {
    id: number;
    why: string;
  }
  interface Repeat {
    ids?: number[] | null;
    failure?: string | null;
    failed?: boolean;
  }
  interface ResultRows {
    columns: string[];
    items: { [name: string]: unknown }[];
    total: number;
  }
  interface Scope {
    project?: string | null;
  }
  interface Sentence {
    sentence: string;
  }
  interface Setting {
    setting: string;
    value: unknown;
    source: string;
    help: string;
  }
  interface SettingsInForce {
    file: string;
    items: Setting[];
    projects: string[];
  }
  interface SlurmJobs {
    slurm_jobs: string[];
  }
  interface Started {
    started: boolean;
    pid: number | null;
  }
  type State = "queued" | "starting" | "running" | "stopping" | "done";
  interface Status {
    version: string;
    user: string;
    machine: string;
    read_only: boolean;
    now: number;
    cwd: string;
    daemon: Daemon;
    paused: boolean;
    paused_projects: string[];
    counts: { [name: string]: number };
    projects: Project[];
    hosts: Host[];
  }
  interface SweepBoard {
    id: number;
    name: string;
    project: string;
    runs: number;
    total: number;
    succeeded: number;
    failed: number;
    running: number;
    waiting: number;
    counts: { [name: string]: number };
    created_at: number;
    pattern: string;
    folder: string;
    columns: string[];
    parameters: string[];
    varying: string[];
    metrics: string[];
    rows: SweepRun[];
    truncated: boolean;
    failures: SweepFailure[];
  }
  interface SweepFailure {
    text: string;
    count: number;
    ids: number[];
  }
  interface SweepList {
    items: ListedSweep[];
  }
  interface SweepPoint {
    name: string;
    command: string;
    parameters: { [name: string]: unknown };
  }
  interface SweepPreview {
    total: number;
    points: SweepPoint[];
    notes: string[];
    problems: string[];
  }
  interface SweepRun {
    job: number;
    name: string;
    state: State;
    outcome: Outcome | null;
    parameters: { [name: string]: unknown };
    metrics: { [name: string]: unknown };
    duration_s: number | null;
    peak_memory_mb: number | null;
    attempts: number;
    exit_code: number | null;
  }
  interface Timeline {
    from: number;
    to: number;
    lanes: Lane[];
    truncated: boolean;
  }
  interface Variable {
    name: string;
    value: string;
    masked: boolean;
  }
  interface Variables {
    variables: Variable[];
  }
  interface Waited {
    done: boolean;
    succeeded: boolean;
    waiting: number[];
    items: JobView[];
  }
  interface Get {
    "/status": { query: {}; answer: Status };
    [path: `/jobs/${number}/log`]: { query: { attempt?: number | null; from?: number; bytes?: number; lines?: boolean }; answer: LogPiece };
    [path: `/jobs/${number}/log/search`]: { query: { q: string; attempt?: number | null; from?: number; before?: number | null; limit?: number }; answer: Hits };
    "/jobs": { query: { status?: string[] | null; project?: string | null; sweep?: string | null; q?: string | null; name?: string | null; failed?: boolean; since?: string | null; older_than?: string | null; sort?: string | null; page?: number; per_page?: number }; answer: JobPage };
    "/jobs/errors": { query: { project?: string | null; sweep?: string | null; lines?: number }; answer: ErrorGroups };
    [path: `/jobs/${number}`]: { query: {}; answer: JobDetails };
    [path: `/jobs/${number}/why`]: { query: {}; answer: Reasons };
    [path: `/jobs/${number}/environment`]: { query: {}; answer: Variables };
    [path: `/jobs/${number}/metrics`]: { query: { max_points?: number }; answer: MetricsOfJob };
    [path: `/jobs/${number}/curve`]: { query: { attempt?: number | null }; answer: Curve };
    "/jobs/wait": { query: { ids: number[]; timeout?: number }; answer: Waited };
    "/sweeps": { query: {}; answer: SweepList };
    [path: `/sweeps/${number}`]: { query: {}; answer: SweepBoard };
    [path: `/sweeps/${number}/metrics`]: { query: { metric: string; max_points?: number }; answer: MetricCurves };
    [path: `/sweeps/${number}/results`]: { query: { where?: string[] | null; sort?: string | null; best?: string | null; highest?: boolean; per?: string | null; columns?: string | null }; answer: ResultRows };
    "/devices": { query: {}; answer: DeviceCards };
    "/devices/history": { query: { minutes?: number }; answer: DeviceHistory };
    "/memory": { query: {}; answer: Peaks };
    "/timeline": { query: { from?: number | null; to?: number | null }; answer: Timeline };
    "/batches": { query: {}; answer: Batches };
    "/config": { query: { project?: string | null }; answer: SettingsInForce };
    "/doctor": { query: {}; answer: Findings };
  }
  interface Post {
    "/jobs": { body: NewJobs; answer: Added };
    [path: `/jobs/${number}/metrics`]: { body: { [name: string]: string | number | boolean }; answer: Noted };
    "/jobs/actions": { body: Action; answer: Deed };
    "/jobs/clean": { body: Cleaning; answer: Cleaned };
    [path: `/jobs/${number}/rerun`]: { body: Changes; answer: JobDetails };
    "/jobs/preview": { body: NewJobs; answer: Preview };
    "/queue/pause": { body: Pause; answer: Paused };
    "/queue/resume": { body: Scope; answer: Sentence };
    "/queue/limit": { body: Limit; answer: Limited };
    "/sweeps": { body: NewSweep; answer: BegunSweep };
    "/sweeps/preview": { body: NewSweep; answer: SweepPreview };
    [path: `/sweeps/${number}/rerun`]: { body: Repeat; answer: Deed };
    "/devices": { body: NewDevices; answer: Sentence };
    [path: `/devices/${string}/${"drain" | "undrain" | "remove"}`]: { body: {}; answer: Sentence };
    "/memory/set": { body: Correction; answer: ChangedPeaks };
    "/memory/forget": { body: Oblivion; answer: ChangedPeaks };
    "/batches": { body: Elsewhere; answer: Batches };
    [path: `/batches/${string}/start`]: { body: {}; answer: SlurmJobs };
    "/daemon/up": { body: {}; answer: Started };
    "/daemon/down": { body: End; answer: Ended };
  }
  interface Patch {
    [path: `/jobs/${number}`]: { body: { [name: string]: unknown }; answer: JobDetails };
  }
}
