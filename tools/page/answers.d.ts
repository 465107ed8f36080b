// What the server sends and takes, written by `python -m tests.web.page_types` from its OpenAPI description.

declare namespace Api {
  interface ActionResult {
    done: number[];
    refused: RefusedJob[];
    undo: { [name: string]: unknown } | null;
  }
  interface AddedJobs {
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
  interface BatchFolder {
    folder: string;
  }
  interface Batches {
    items: Batch[];
  }
  interface ChangedPeak {
    recipe: string;
    model: string;
    peak_mb: number;
  }
  interface ChangedPeaks {
    changed: ChangedPeak[];
  }
  interface CleanJobs {
    older_than: string | number;
    dry_run?: boolean;
  }
  interface CleanedJobs {
    ids: number[];
    removed: boolean;
  }
  interface CodeVersion {
    commit: string;
    branch: string | null;
    dirty: boolean;
  }
  interface CorrectPeak {
    recipe: string;
    size: string | number;
    model?: string | null;
  }
  interface DaemonEnded {
    ended: boolean;
    still_running: number;
  }
  interface DaemonStarted {
    started: boolean;
    pid: number | null;
  }
  interface DaemonStatus {
    running: boolean;
    pid?: number | null;
    since?: number | null;
    home?: string | null;
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
  interface EndDaemon {
    kill?: boolean;
  }
  interface EnvironmentVariable {
    name: string;
    value: string;
    masked: boolean;
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
  interface ForgetPeaks {
    recipe?: string | null;
    all?: boolean;
  }
  interface Host {
    id: number;
    name: string;
    kind: string;
    alive: boolean;
  }
  interface JobAction {
    action: "kill" | "rerun" | "hold" | "release" | "pause" | "resume" | "remove" | "priority" | "first" | "last" | "before" | "place";
    ids?: number[] | null;
    select?: string | null;
    priority?: number | null;
    before?: number | null;
    changes?: { [name: string]: unknown } | null;
    places?: [number, number, number][];
    now?: boolean;
  }
  interface JobChanges {
    changes?: { [name: string]: unknown };
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
    events: JobEvent[];
    needs: Needs;
    environment_names: string[];
    code: CodeVersion | null;
    run_folder: string;
    sweep_id: number | null;
    error: string[];
  }
  interface JobEnvironment {
    variables: EnvironmentVariable[];
  }
  interface JobEvent {
    at: number;
    before: string;
    after: string;
    outcome: Outcome | null;
    attempt: number | null;
    detail: string;
    text: string;
  }
  interface JobMetric {
    metric: string;
    last: unknown;
    points: [number, unknown][];
  }
  interface JobMetrics {
    items: JobMetric[];
    truncated: boolean;
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
  interface JobsPreview {
    jobs: PreviewedJob[];
    problems: string[];
  }
  interface LimitProject {
    project: string;
    max_running?: number | null;
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
  interface LogMatch {
    at: number;
    line: string;
  }
  interface LogMatches {
    hits: LogMatch[];
    next: number | null;
    complete: boolean;
  }
  interface LogPiece {
    text: string;
    from: number;
    to: number;
    size: number;
    ended: boolean;
    attempt: number | null;
  }
  interface MemoryCurve {
    attempt: number | null;
    points: MemoryCurvePoint[];
    reserved_mb: number | null;
  }
  interface MemoryCurvePoint {
    at: number;
    memory_mb: number | null;
    utilization: number | null;
  }
  interface MetricCurves {
    metric: string;
    series: MetricSeries[];
    truncated: boolean;
  }
  interface MetricSeries {
    job: number;
    name: string;
    points: [number, unknown][];
  }
  interface MetricsNoted {
    noted: number;
  }
  interface Needs {
    gpu_mem_mb?: number | null;
    total_gpu_mem_mb?: number | null;
    auto?: boolean | null;
    recipe?: string | null;
    parameters?: string | null;
    deciding?: string | null;
    cpus?: number | null;
    mem_mb?: number | null;
    mem_limit?: boolean | null;
    ooms?: number | null;
    ran_out_mb?: number | null;
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
  type Outcome = "succeeded" | "failed" | "out-of-memory" | "timed-out" | "killed" | "lost" | "skipped";
  interface PauseQueue {
    project?: string | null;
    stop_running?: boolean;
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
  interface ProjectLimit {
    project: string;
    max_running: number | null;
  }
  interface QueuePaused {
    sentence: string;
    suspended: number;
  }
  interface RefusedJob {
    id: number;
    why: string;
  }
  interface RerunRuns {
    ids?: number[] | null;
    failure?: string | null;
    failed?: boolean;
  }
  interface ResultRows {
    columns: string[];
    items: { [name: string]: unknown }[];
    total: number;
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
  interface StartedSweep {
    sweep: number;
    name: string;
    summary: string;
    ids: number[];
  }
  type State = "queued" | "starting" | "running" | "stopping" | "done";
  interface Status {
    version: string;
    user: string;
    machine: string;
    read_only: boolean;
    now: number;
    cwd: string;
    daemon: DaemonStatus;
    paused: boolean;
    paused_projects: string[];
    counts: { [name: string]: number };
    projects: Project[];
    hosts: Host[];
  }
  interface SweepDetails {
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
    lanes: TimelineLane[];
    truncated: boolean;
  }
  interface TimelineBar {
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
  interface TimelineLane {
    device: string;
    bars: TimelineBar[];
  }
  interface WaitResult {
    done: boolean;
    succeeded: boolean;
    waiting: number[];
    items: JobView[];
  }
  interface WaitingReasons {
    reasons: string[];
  }
  interface WholeQueueOrProject {
    project?: string | null;
  }
  interface Get {
    "/status": { query: {}; answer: Status };
    [path: `/jobs/${number}/log`]: { query: { attempt?: number | null; from?: number; bytes?: number; lines?: boolean }; answer: LogPiece };
    [path: `/jobs/${number}/log/search`]: { query: { q: string; attempt?: number | null; from?: number; before?: number | null; limit?: number }; answer: LogMatches };
    "/jobs": { query: { status?: string[] | null; project?: string | null; sweep?: string | null; q?: string | null; name?: string | null; failed?: boolean; since?: string | null; older_than?: string | null; sort?: string | null; page?: number; per_page?: number }; answer: JobPage };
    "/jobs/errors": { query: { project?: string | null; sweep?: string | null; lines?: number }; answer: ErrorGroups };
    [path: `/jobs/${number}`]: { query: {}; answer: JobDetails };
    [path: `/jobs/${number}/why`]: { query: {}; answer: WaitingReasons };
    [path: `/jobs/${number}/environment`]: { query: {}; answer: JobEnvironment };
    [path: `/jobs/${number}/metrics`]: { query: { max_points?: number }; answer: JobMetrics };
    [path: `/jobs/${number}/curve`]: { query: { attempt?: number | null }; answer: MemoryCurve };
    "/jobs/wait": { query: { ids: number[]; timeout?: number }; answer: WaitResult };
    "/sweeps": { query: {}; answer: SweepList };
    [path: `/sweeps/${number}`]: { query: {}; answer: SweepDetails };
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
    "/jobs": { body: NewJobs; answer: AddedJobs };
    [path: `/jobs/${number}/metrics`]: { body: { [name: string]: string | number | boolean }; answer: MetricsNoted };
    "/jobs/actions": { body: JobAction; answer: ActionResult };
    "/jobs/clean": { body: CleanJobs; answer: CleanedJobs };
    [path: `/jobs/${number}/rerun`]: { body: JobChanges; answer: JobDetails };
    "/jobs/preview": { body: NewJobs; answer: JobsPreview };
    "/queue/pause": { body: PauseQueue; answer: QueuePaused };
    "/queue/resume": { body: WholeQueueOrProject; answer: Sentence };
    "/queue/limit": { body: LimitProject; answer: ProjectLimit };
    "/sweeps": { body: NewSweep; answer: StartedSweep };
    "/sweeps/preview": { body: NewSweep; answer: SweepPreview };
    [path: `/sweeps/${number}/rerun`]: { body: RerunRuns; answer: ActionResult };
    "/devices": { body: NewDevices; answer: Sentence };
    [path: `/devices/${string}/${"drain" | "undrain" | "remove"}`]: { body: {}; answer: Sentence };
    "/memory/set": { body: CorrectPeak; answer: ChangedPeaks };
    "/memory/forget": { body: ForgetPeaks; answer: ChangedPeaks };
    "/batches": { body: BatchFolder; answer: Batches };
    [path: `/batches/${string}/start`]: { body: {}; answer: SlurmJobs };
    "/daemon/up": { body: {}; answer: DaemonStarted };
    "/daemon/down": { body: EndDaemon; answer: DaemonEnded };
  }
  interface Patch {
    [path: `/jobs/${number}`]: { body: { [name: string]: unknown }; answer: JobDetails };
  }
}
