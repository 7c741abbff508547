import type { RunRow } from "../../generated/messages";

/** Seconds until a run reaches its first limit; null where there is none, or no speed to tell by. */
export function leftOf(row: RunRow): number | null {
  const bySteps = row.goal_steps > 0 && row.steps_per_s ? (row.goal_steps - row.env_steps) / row.steps_per_s : Infinity;
  const byTime = row.goal_minutes > 0 ? row.goal_minutes * 60 - row.seconds : Infinity;
  const left = Math.min(bySteps, byTime);
  return Number.isFinite(left) ? Math.max(0, left) : null;
}
