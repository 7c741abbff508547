// What a status means to a person: its word, its colour, whether it needs them.

import type { RunRow } from "../generated/messages";

interface Look {
  word: string;
  tone: "live" | "wait" | "good" | "calm" | "bad";
  /** One line for those who have not seen it before. */
  meaning: string;
}

const LOOKS: Record<string, Look> = {
  queued: { word: "Queued", tone: "wait", meaning: "Waits for a free slot." },
  starting: { word: "Starting", tone: "live", meaning: "Builds its worlds; the first step is about to come." },
  running: { word: "Running", tone: "live", meaning: "Trains right now." },
  paused: { word: "Paused", tone: "wait", meaning: "Waits for somebody to resume it; nothing is lost." },
  stopping: { word: "Stopping", tone: "wait", meaning: "Saves, then ends." },
  finished: { word: "Finished", tone: "good", meaning: "Reached its goal." },
  stopped: { word: "Stopped", tone: "calm", meaning: "Ended by a person; it was saved, and can go on." },
  cancelled: { word: "Taken out", tone: "calm", meaning: "Was taken out of the queue before it began." },
  failed: { word: "Failed", tone: "bad", meaning: "Ended by an error." },
  crashed: { word: "Crashed", tone: "bad", meaning: "Its process is gone without a word; its last checkpoint is there." },
  unreadable: { word: "Unreadable", tone: "bad", meaning: "Its folder cannot be read." },
};

export function lookOf(status: string): Look {
  return LOOKS[status] ?? { word: status, tone: "calm", meaning: "" };
}

/** Whether it works, or would if it were let. */
export function isActive(row: RunRow): boolean {
  return row.alive && ["starting", "running", "paused"].includes(row.status);
}

/** What to call a run. */
export function nameOf(row: RunRow): string {
  return row.title || row.task || row.id;
}

/** The part of an id that tells two runs of one task apart. */
export function shortId(id: string): string {
  const [day = "", time = ""] = id.split("-");
  return /^\d{8}$/.test(day) ? `${day.slice(4, 6)}-${day.slice(6)} ${time.slice(0, 2)}:${time.slice(2, 4)} ${id.slice(-4)}` : id;
}
