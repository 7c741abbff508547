// Made from src/paddock/messages by `python -m paddock.typescript`. Change the messages, not this file.

/** What decides the last bit of a floating-point result: the processor, its C library and the engine. */
export interface Platform {
  /** Instruction set, such as x86_64. */
  machine: string;
  system: string;
  cpu: string;
  cpu_flags: string[];
  libc: string;
  /** A digest of what the C library's sine, exponential and others return: it may choose other code for a processor. */
  libm: string;
  mujoco: string;
}

/** Where a run's task came from. The run keeps a copy, and nothing ever imports one whose hash is another. */
export interface TaskSource {
  /** As it was asked for: a name, or file.py:NAME. */
  typed: string;
  /** Name of the Task in its file. */
  constant: string;
  /** Where the file was, so that it finds its neighbours. */
  folder: string;
  /** Of the file; empty for a task that had none, made in a notebook. */
  sha256: string;
}

/** The working tree a run was started in. */
export interface GitState {
  commit: string;
  dirty: boolean;
}

/** What a run is: all of it is known before its first step, and none of it changes. */
export interface RunSetup {
  format: number;
  id: string;
  task: string;
  task_version: number;
  source: TaskSource;
  /** Of the XML text that the sim compiled. */
  model_sha256: string;
  algorithm: string;
  preset: string;
  /** Resolved: presets, files and flags are in it, and so are the numbers of worlds and threads. */
  config: Record<string, unknown>;
  /** What differs between episodes, by name, as one would write it; runs of before 0.2 do not say. */
  randomize?: Record<string, string>;
  seed: number;
  /** Of each process. */
  num_worlds: number;
  /** That learned together. */
  processes?: number;
  /** The command line, or what called `paddock.train`. */
  command: string[];
  /** ISO time, UTC. */
  created: string;
  host: string;
  paddock: string;
  torch: string;
  numpy: string;
  python: string;
  git: GitState | null;
  platform: Platform;
}

/** How far a run has come; rewritten while it runs. */
export interface RunProgress {
  /** `starting`, `running`, `paused`, `finished`, `stopped`, `failed`. One that runs without a heartbeat has crashed. */
  status: string;
  /** Why it stopped or failed; empty otherwise. */
  detail: string;
  /** ISO time, UTC, of the last sign of life. */
  heartbeat: string;
  pid: number;
  env_steps: number;
  updates: number;
  /** Spent training, over all sittings. */
  seconds: number;
  /** Of the last episodes in training. */
  mean_return: number | null;
  success: number | null;
  /** In the periodic evaluation. */
  best_success: number | null;
  /** How often it was resumed. */
  resumed: number;
  /** Of telemetry, for want of disk. */
  dropped_rows: number;
  /** What went wrong without stopping the run. */
  troubles: string[];
}

/** run.json. */
export interface RunCard {
  setup: RunSetup;
  progress: RunProgress;
}

/** best.json: which checkpoint the periodic evaluation liked most. */
export interface BestCheckpoint {
  env_steps: number;
  success: number | null;
  mean_return: number;
}

/** checkpoint.json, beside the tensors it vouches for. */
export interface CheckpointCard {
  format: number;
  run: string;
  task: string;
  source_sha256: string;
  algorithm: string;
  env_steps: number;
  updates: number;
  seconds: number;
  /** Of state.safetensors; filled in when it is written. */
  sha256?: string;
  size_bytes?: number;
}

export type Vec3 = [number, number, number];

/** w, x, y, z. */
export type Quat = [number, number, number, number];

/** Where numbers lie in scene.bin: the offset of the first in bytes, and how many there are. */
export type Span = [number, number];

/** How a body moves in its parent; several on one body act in their order. */
export interface SceneJoint {
  name: string;
  /** `free`, `ball`, `slide` or `hinge`. */
  kind: string;
  axis: Vec3;
  /** Of the anchor, in the body's frame. */
  pos: Vec3;
  /** Its first column of qpos. */
  qpos: number;
  low: number | null;
  /** Its range; None where it has none. */
  high: number | null;
  /** qpos in the pose that the file draws: a slide or hinge moves by qpos - ref. */
  ref: number;
}

/** One body; the first is the world. */
export interface SceneBody {
  name: string;
  parent: number;
  pos: Vec3;
  quat: Quat;
  /** Its place among the mocap poses of a frame; -1 where it has none. */
  mocap: number;
  mass: number;
  joints: SceneJoint[];
  /** Whether it belongs to the robot, not to the world around it. */
  robot: boolean;
}

/** One shape on a body. Those of group 3 and more are there to collide. */
export interface SceneGeom {
  name: string;
  body: number;
  /** `plane`, `sphere`, `capsule`, `ellipsoid`, `cylinder`, `box`, `mesh` or `hfield`. */
  kind: string;
  /** As MuJoCo has it: half sizes; a plane's 0 has no end. */
  size: Vec3;
  pos: Vec3;
  quat: Quat;
  rgba: [number, number, number, number];
  group: number;
  mesh: number;
  /** Its mesh or height field; -1 where it has none. */
  height: number;
  checker: boolean;
  /** The other colour of a checkered one; `rgba` has the first. */
  second: Vec3 | null;
  /** How much it mirrors a lamp, how sharply, and how much it glows; each 0 to 1. */
  shine: Vec3;
}

/** Triangles: xyz as float32, then the three vertices of each face as uint32. */
export interface SceneMesh {
  vertices: Span;
  faces: Span;
}

/** A height field: float32 from 0 to 1, rows from the lowest y on, columns from the lowest x on. */
export interface SceneHeights {
  rows: number;
  cols: number;
  /** Half extent along x and y, height of a 1, and depth of the base under a 0. */
  size: [number, number, number, number];
  data: Span;
}

/** A marked place on a body. */
export interface SceneSite {
  name: string;
  body: number;
  kind: string;
  size: Vec3;
  pos: Vec3;
  quat: Quat;
  rgba: [number, number, number, number];
  group: number;
}

/** A camera of the model; it looks along its own -z. */
export interface SceneCamera {
  name: string;
  body: number;
  pos: Vec3;
  quat: Quat;
  /** Degrees. */
  fovy: number;
  /** How it moves with its body, in MuJoCo's words: `fixed` to it, `track`, `trackcom`, `targetbody` or `targetbodycom`. */
  mode: string;
}

/** scene.json; the numbers of meshes and heights are in scene.bin beside it. */
export interface Scene {
  version: number;
  name: string;
  nq: number;
  nbody: number;
  up: string;
  bodies: SceneBody[];
  geoms: SceneGeom[];
  meshes: SceneMesh[];
  heights: SceneHeights[];
  sites: SceneSite[];
  cameras: SceneCamera[];
  home: number[];
  control_dt: number;
  /** What the model has and the scene cannot show, a sentence each. */
  missing: string[];
}

export type Place = "runs" | "archive" | "trash";

/** The body of every answer that is none: 400 and above. */
export interface Refusal {
  /** A sentence that says what to do. */
  error: string;
}

/** Who answers. */
export interface Hello {
  protocol: number;
  paddock: string;
  runs_dir: string;
  /** Name of the machine. */
  host: string;
  cores: number;
  /** That run on this machine. */
  sims: string[];
  /** Trainings that run side by side; the rest waits. */
  slots: number;
}

/** A run as the table shows it. */
export interface RunRow {
  id: string;
  place: Place;
  /** That of RunProgress, or `crashed`, or `unreadable`. */
  status: string;
  /** Why it stopped, failed or cannot be read; empty otherwise. */
  detail: string;
  /** Whether the process that writes it is there. */
  alive: boolean;
  /** Whether it has a live.sock: can be watched, paused, saved and stopped. */
  watchable: boolean;
  task: string;
  algorithm: string;
  preset: string;
  seed: number;
  sim: string;
  num_worlds: number;
  env_steps: number;
  /** 0 for no limit. */
  goal_steps: number;
  /** 0 for no limit. */
  goal_minutes: number;
  /** Of the training that is done, 0 to 1; 0 where there is no limit. */
  share: number;
  /** Spent training. */
  seconds: number;
  /** Over the last half minute where it runs, over all of it where it is over. */
  steps_per_s: number | null;
  mean_return: number | null;
  success: number | null;
  best_success: number | null;
  /** ISO time, UTC. */
  created: string;
  /** ISO time, UTC, of the last sign of life. */
  heartbeat: string;
  /** On disk; measured anew now and then. */
  size_bytes: number;
  resumed: number;
  dropped_rows: number;
  troubles: string[];
  pid: number;
  host: string;
  /** Who started it. */
  origin: "cockpit" | "shell";
  /** As a person calls it; empty where nobody did. */
  title: string;
  tags: string[];
  note: string;
}

/** All runs, the oldest first. */
export interface RunList {
  runs: RunRow[];
}

/** labels.json of a run: what people wrote on it. */
export interface Labels {
  title: string;
  tags: string[];
  note: string;
}

/** What to write on a run; what is not given stays. */
export interface LabelChange {
  title?: string | null;
  tags?: string[] | null;
  note?: string | null;
}

/** A file of a run that can be fetched by its name. */
export interface FileRow {
  name: string;
  size_bytes: number;
  /** ISO time, UTC. */
  modified: string;
}

/** A checkpoint of a run. */
export interface CheckpointRow {
  env_steps: number;
  size_bytes: number;
  is_best: boolean;
  is_latest: boolean;
}

/** All there is to know of a run at once. */
export interface RunDetail {
  row: RunRow;
  /** None where it cannot be read. */
  card: RunCard | null;
  scalars: string[];
  /** Whose steps are kept. */
  worlds: number[];
  /** What is kept of each of those steps. */
  step_columns: string[];
  /** Reward terms. */
  terms: string[];
  /** What can end an episode. */
  causes: string[];
  checkpoints: CheckpointRow[];
  recordings: FileRow[];
  evaluations: FileRow[];
  /** Every file that can be fetched, those above among them. */
  files: FileRow[];
  /** Whether it has a checkpoint and its task can be made. */
  can_play: boolean;
}

/** One block of a PDKS answer: float64 columns of n values each, one after the other. */
export interface SeriesBlock {
  run: string;
  /** Of the scalar; `steps` of recorded steps. */
  name: string;
  columns: string[];
  n: number;
  /** Values of this scalar so far. A point of the log lane with i < total is in here already. */
  total: number;
  /** Whether each point is one value, rather than a bucket of them. */
  whole: boolean;
  /** Unix time of its first value; 0 where there is none. */
  first_time: number;
  /** Why there are no columns; empty otherwise. */
  error: string;
}

/** The JSON in front of a PDKS answer. PDKS, u32 bytes of this JSON padded with blanks to 8, the JSON, the blocks. */
export interface SeriesHead {
  series: SeriesBlock[];
}

/** Id, env step when it ended, world, episode, length, return, success, cause, sum of each reward term. */
export type EpisodeRow = [number, number, number, number, number, number | null, boolean | null, string, (number | null)[]];

/** Episodes in the order in which they ended, the newest last. */
export interface EpisodePage {
  terms: string[];
  rows: EpisodeRow[];
  /** Episodes in the record. */
  total: number;
}

/** Something that happened in a run. */
export interface RunEvent {
  id: number;
  step: number;
  time: number;
  kind: string;
  detail: Record<string, unknown>;
}

/** What happened, the newest last. */
export interface EventList {
  events: RunEvent[];
}

/** The last lines of a log, the newest last. */
export interface LogText {
  lines: string[];
}

/** The task a run was made of. */
export interface SourceText {
  name: string;
  text: string;
}

/** A setting that two runs do not share. */
export interface Difference {
  name: string;
  a: unknown;
  b: unknown;
}

/** What two runs were told differently. */
export interface ConfigDiff {
  a: string;
  b: string;
  rows: Difference[];
  /** Settings that are equal. */
  same: number;
}

export type JobStatus = "queued" | "starting" | "running" | "stopping" | "ended";

export type FieldKind = "integer" | "number" | "boolean" | "text" | "choice" | "integers";

/** A task that can be trained. */
export interface TaskRow {
  name: string;
  line: string;
  presets: string[];
  /** Runs of it that are here. */
  trained: number;
}

/** What can be trained. */
export interface TaskList {
  tasks: TaskRow[];
}

/** A setting of a training. */
export interface FormField {
  /** Dotted, as in `ppo.learning_rate`; the key in JobRequest.settings. */
  name: string;
  title: string;
  kind: FieldKind;
  /** As the preset settles it. */
  default: unknown;
  help: string;
  unit: string;
  choices: string[];
  low: number | null;
  high: number | null;
  /** Whether most people leave it alone. */
  advanced: boolean;
}

/** Settings that belong together. */
export interface FormGroup {
  name: string;
  title: string;
  fields: FormField[];
}

/** What a person may choose before a training. */
export interface Form {
  task: string;
  preset: string;
  sim: string;
  presets: string[];
  sims: string[];
  groups: FormGroup[];
  /** What to know before starting, such as a GPU that is not there. */
  warnings: string[];
}

/** Please train this. */
export interface JobRequest {
  task?: string;
  preset?: string;
  seed?: number;
  /** Empty for the preset's own. */
  sim?: string;
  /** Dotted names of fields, with values; what is not named keeps its default. */
  settings?: Record<string, unknown> | null;
  title?: string;
  /** Id of a run to go on with, instead of a new one of `task`. */
  resume?: string;
  /** So many steps more, for a run that is gone on with. */
  steps?: number;
  minutes?: number;
}

/** A training that the cockpit started or will start. */
export interface Job {
  id: string;
  status: JobStatus;
  /** In the queue, from 1; 0 where it does not wait. */
  place: number;
  request: JobRequest;
  /** Id of its run; empty until there is one. */
  run: string;
  pid: number;
  /** ISO times, UTC; empty until then. */
  queued: string;
  started: string;
  ended: string;
  exit_code: number | null;
  /** That ended it; empty where none did. */
  signal: string;
  /** Why it ended, in words. */
  reason: string;
  /** What to do about it; empty where there is nothing. */
  hint: string;
  /** While it stops: what it is sent next. */
  next_signal: string;
  /** Unix time of that; 0 where nothing comes. */
  next_signal_at: number;
  /** The last it printed. */
  lines: string[];
}

/** All jobs, the newest last. */
export interface JobList {
  jobs: Job[];
  slots: number;
}

/** So many trainings side by side, please. */
export interface SlotsChange {
  slots: number;
}

/** What a running run should do after its present update. */
export interface RunOrder {
  do: "pause" | "resume" | "save";
}

/** Please let me play with a run's policy. */
export interface PlayRequest {
  run: string;
  checkpoint?: string;
  worlds?: number;
}

/** A simulation of a policy, beside whatever trains. */
export interface Play {
  /** Its id. */
  play: string;
  run: string;
  checkpoint: string;
  worlds: number;
}

/** It was done. */
export interface Done {
  /** What was, in words. */
  ok: string;
}

/** The socket's subprotocol is `paddock.v1`; a page of another number asks to be loaded again. */
export const PROTOCOL = 1;

/** PDKF, u8 version, u8 kind, u16 stream, u32 seq, u32 worlds, u32 nq, u32 bytes of tail, f64 env steps; little-endian. */
export const FRAME_HEAD_BYTES = 32;

/** Rows that are new or have changed, and runs that are no more. */
export interface RunsPush {
  kind: "runs";
  /** Whether these are all there are: the first push after `list`. */
  whole: boolean;
  rows: RunRow[];
  gone: string[];
}

/** Jobs that are new or have changed, the newest last, and jobs that are forgotten. */
export interface JobsPush {
  kind: "jobs";
  /** Whether these are all there are: the first push after `list`. */
  whole: boolean;
  jobs: Job[];
  gone: string[];
  slots: number;
}

/** Name, its number among the values of that name from 0, env step, Unix time, value. */
export type ScalarPoint = [string, number, number, number, number];

/** What a followed run has written since the last push: every scalar, event and line of its log, in order. */
export interface LogPush {
  kind: "log";
  run: string;
  /** Counts this subscription's pushes from 0. */
  seq: number;
  points: ScalarPoint[];
  /** The newest; `skipped` came before them and can be fetched. */
  episodes: EpisodeRow[];
  skipped: number;
  events: RunEvent[];
  lines: string[];
  /** False while it still catches up. */
  live: boolean;
  /** What to send with `follow` after a lost connection. */
  cursor: Record<string, unknown>;
}

/** A resumed run took back what it had written after its checkpoint: fetch everything again. Following goes on. */
export interface RewoundPush {
  kind: "rewound";
  run: string;
}

/** What this socket shows, after it was asked for and whenever it changes. */
export interface WatchingPush {
  kind: "watching";
  /** Its frames carry this number. */
  stream: number;
  /** Empty for a play. */
  run: string;
  /** Empty for a run. */
  play: string;
  worlds: number[];
  hz: number;
  focus: number;
  /** `waiting` until the first step; `over` where nobody sends frames any more. */
  state: "running" | "paused" | "waiting" | "over";
  /** Why it is over; empty otherwise. */
  reason: string;
}

/** One number of a command. */
export interface CommandPart {
  name: string;
  low: number;
  high: number;
  value: number;
  unit: string;
}

/** What a policy can be told, such as a velocity. */
export interface PlayCommand {
  name: string;
  parts: CommandPart[];
}

/** What a play is, before its first frame and whenever one of these changes. */
export interface PlayPush {
  kind: "play";
  play: string;
  title: string;
  /** Such as `best at 1,000,000 steps`. */
  policy: string;
  commands: PlayCommand[];
  control_dt: number;
  /** Name of the run's file that keeps it; None where none does. */
  recording: string | null;
  checkpoints: string[];
}

/** A play does not do what it was told. */
export interface RefusedPush {
  kind: "refused";
  play: string;
  what: Record<string, unknown>;
  why: string;
}

/** Something that was asked for cannot be; the socket stays open. */
export interface TroublePush {
  kind: "trouble";
  /** What was asked: `follow`, `watch`, ... */
  about: string;
  run: string;
  error: string;
}

export type FromServer = RunsPush | JobsPush | LogPush | RewoundPush | WatchingPush | PlayPush | RefusedPush | TroublePush;

/** Tell me of runs and jobs as they change. */
export interface ListAsk {
  do: "list";
}

/** Tell me what a run writes; from a cursor, or from now on where it is null. `{}` begins at the run's beginning. */
export interface FollowAsk {
  do: "follow";
  run: string;
  cursor?: Record<string, unknown> | null;
}

/** No more of that. */
export interface UnfollowAsk {
  do: "unfollow";
  run: string;
}

/** Show me worlds of a run, in place of what this socket showed before. */
export interface WatchAsk {
  do: "watch";
  run: string;
  worlds?: number[];
  hz?: number;
  /** The world whose rewards, observations and contacts come along. */
  focus?: number;
}

/** Show me a play, in place of what this socket showed before. */
export interface PlayAsk {
  do: "play";
  play: string;
  hz?: number;
  focus?: number;
}

/** No more frames. */
export interface UnwatchAsk {
  do: "unwatch";
}

/** The frame was drawn; the next one may come. */
export interface AckAsk {
  do: "ack";
  stream: number;
  seq: number;
}

/** Steer a play: pause, resume, step, reset, speed, command, drag, release. */
export interface TellAsk {
  do: "tell";
  play: string;
  what: Record<string, unknown>;
}

export type ToServer = ListAsk | FollowAsk | UnfollowAsk | WatchAsk | PlayAsk | UnwatchAsk | AckAsk | TellAsk;

/** The JSON behind a frame's poses: what is known of the world in focus. What a task has not is not there. */
export interface FrameTail {
  /** Frames that this viewer was not sent, because it was still drawing. */
  dropped: number;
  steps_per_s: number;
  world: number;
  /** Of the last step, by term. */
  reward?: Record<string, number> | null;
  obs?: Record<string, number[]> | null;
  action?: number[] | null;
  command?: Record<string, number[]> | null;
  /** Position, normal, force. */
  contacts?: [number, number, number, number, number, number, number][] | null;
  /** Position and quaternion of each mocap body. */
  mocap?: [[number, number, number], [number, number, number, number]][] | null;
  markers?: Record<string, unknown>[] | null;
  cameras?: Record<string, unknown> | null;
  /** Return of the episode so far. */
  total?: number | null;
  success?: boolean | null;
  /** What ended the episode at this step. */
  ended?: string | null;
  paused?: boolean;
  /** Of a play: simulated seconds in a second. */
  speed?: number | null;
}
