import type { RunState } from '../core/run/state.ts';
import { msBetween } from '../core/text/format-elapsed.ts';

/** `42s`, `5m`, `3h`, `12d` */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/**
 * When something was, as of `now`: `42s ago`, `3m ago`, `5h ago`, from a day on its date, such as `19 Nov`. `dateOf`: default in
 * UTC.
 */
export function ageText(at: string, now: string, dateOf = dateText): string {
  const ms = msBetween(at, now);
  return ms < DAY_MS ? `${formatAge(ms)} ago` : dateOf(at, now);
}

/** When a run ended, or was submitted. */
export function whenText({ endedAt, createdAt }: Pick<RunState, 'endedAt' | 'createdAt'>, now: string): string {
  return ageText(endedAt ?? createdAt, now);
}

/** E.g. `19 Nov`, of another year `19 Nov 2029`, in UTC. */
function dateText(at: string, now: string): string {
  const day = `${Number(at.slice(8, 10))} ${MONTHS[Number(at.slice(5, 7)) - 1] ?? ''}`;
  return at.slice(0, 4) === now.slice(0, 4) ? day : `${day} ${at.slice(0, 4)}`;
}

const DAY_MS = 86_400_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
