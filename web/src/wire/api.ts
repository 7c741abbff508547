// Everything that is asked of the server once. Paths are relative to the page, so that they hold under any prefix.

import type {
  ConfigDiff,
  Done,
  EpisodePage,
  EventList,
  Form,
  Hello,
  Job,
  JobList,
  JobRequest,
  LabelChange,
  Labels,
  LogText,
  Play,
  PlayRequest,
  Refusal,
  RunDetail,
  RunList,
  Scene,
  SourceText,
  TaskList,
} from "../generated/messages";
import { type Block, decodeSeries } from "./pdks";

/** What the server said instead of an answer, or that it said nothing. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** HTTP's code; 0 where nobody answered. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** The page's URL without its fragment is where `c/` lies. */
export function urlOf(path: string): string {
  return new URL(`c/${path}`, document.baseURI).href;
}

async function ask(path: string, method = "GET", body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer: Response;
  try {
    answer = await fetch(urlOf(path), { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("The server does not answer. Is paddock serve still running?", 0);
  }
  if (!answer.ok) throw new ApiError(await sentence(answer), answer.status);
  return answer;
}

async function sentence(answer: Response): Promise<string> {
  if (answer.status === 401) return "This page has no token any more. Open the link that paddock serve printed.";
  const refusal = (await answer.json().catch(() => null)) as Refusal | null;
  return refusal?.error ?? `The server answered ${answer.status} ${answer.statusText}.`;
}

const get = async <T>(path: string, signal?: AbortSignal) => (await (await ask(path, "GET", undefined, signal)).json()) as T;
const send = async <T>(path: string, body: unknown = {}, method = "POST") => (await (await ask(path, method, body)).json()) as T;
const run = (id: string) => `runs/${encodeURIComponent(id)}`;

function query(asked: Record<string, string | number | undefined>): string {
  const given = Object.entries(asked).filter((pair) => pair[1] !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

export interface SeriesAsk {
  runs: string[];
  names: string[];
  points: number;
  first?: number;
  last?: number;
}

export const api = {
  hello: () => get<Hello>("hello"),
  runs: () => get<RunList>("runs"),
  detail: (id: string) => get<RunDetail>(run(id)),
  label: (id: string, change: LabelChange) => send<Labels>(run(id), change, "PATCH"),
  archive: (id: string) => send<Done>(`${run(id)}/archive`),
  restore: (id: string) => send<Done>(`${run(id)}/restore`),
  remove: (id: string) => send<Done>(`${run(id)}/delete`),
  tell: (id: string, what: "pause" | "resume" | "save") => send<Done>(`${run(id)}/tell`, { do: what }),
  stop: (id: string) => send<Done>(`${run(id)}/stop`),
  events: (id: string) => get<EventList>(`${run(id)}/events`),
  log: (id: string, lines: number) => get<LogText>(`${run(id)}/log?${query({ lines })}`),
  scene: (id: string) => get<Scene>(`${run(id)}/scene`),
  sceneNumbers: async (id: string) => (await ask(`${run(id)}/scene.bin`)).arrayBuffer(),
  play: (request: PlayRequest) => send<Play>("plays", request),
  source: (id: string) => get<SourceText>(`${run(id)}/source`),
  episodes: (id: string, last: number, before?: number) => get<EpisodePage>(`${run(id)}/episodes?${query({ last, before })}`),
  diff: (a: string, b: string) => get<ConfigDiff>(`diff?${query({ a, b })}`),
  fileUrl: (id: string, name: string) => urlOf(`${run(id)}/file/${name.split("/").map(encodeURIComponent).join("/")}`),
  tasks: () => get<TaskList>("tasks"),
  form: (task: string, preset: string, sim: string, signal?: AbortSignal) => get<Form>(`form?${query({ task, preset, sim })}`, signal),
  jobs: () => get<JobList>("jobs"),
  start: (request: JobRequest) => send<Job>("jobs", request),
  cancel: (id: string) => send<Job>(`jobs/${encodeURIComponent(id)}/cancel`),
  slots: (slots: number) => send<JobList>("slots", { slots }),

  /** Curves of several runs: what is kept at the resolution asked for, never a sample of it. */
  async series({ runs, names, points, first, last }: SeriesAsk, signal?: AbortSignal): Promise<Block[]> {
    const asked = query({ runs: runs.join(","), names: names.join(","), points, first, last });
    return decodeSeries(await (await ask(`series?${asked}`, "GET", undefined, signal)).arrayBuffer());
  },

  /** Recorded steps of one world: a block of the columns that were kept. */
  async steps(id: string, world: number, first: number, last: number): Promise<Block> {
    const answer = await ask(`${run(id)}/steps?${query({ world, first, last })}`);
    const [block] = decodeSeries(await answer.arrayBuffer());
    if (!block) throw new ApiError("The server sent no steps.", 0);
    return block;
  },
};
