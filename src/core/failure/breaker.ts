import { isDue } from '../../core/due.ts';
import { printableShellWord } from '../text/safe-text.ts';

/** When a breaker opens; 0 disables a threshold. */
export interface BreakerPolicy {
  /** Consecutive failures without a changed file. */
  noChange: number;
  /** Consecutive failures with the same error. */
  sameError: number;
  /** Decrease of the agent's output compared with the previous failed attempt, in percent. */
  outputDecline: number;
  /** Consecutive failures with a denied permission. */
  permissionDenials: number;
  /** Consecutive failures in which only tests were changed. */
  testOnly: number;
  /** How long it stays open before a trial attempt is admitted, in ms. */
  cooldownMs: number;
}

/** What a breaker records about one failure. */
export interface FailureSign {
  /** The attempt; of several failures of one attempt only the last counts. */
  by: string;
  /** A normalised error text, equal for equivalent errors. */
  error: string;
  /** Whether any file was changed; undefined if unknown, e.g. because the agent was never started. */
  changed: boolean | undefined;
  /** Whether all changed files are tests; absent if nothing was changed or it is unknown. */
  testOnly?: boolean | undefined;
  /** Bytes of the agent's output. */
  output?: number | undefined;
  /** Whether a permission was denied. */
  denied: boolean;
  /** Its failure class. */
  kind: string;
}

/** Failures since the last success, newest last. */
export type Signs = readonly FailureSign[];

/** No threshold is larger. */
const MAX_SIGNS = 100;
/** Attempts with less output than this are not compared. */
const MIN_COMPARABLE_OUTPUT = 16 * 1024;

export function addSign(signs: Signs, sign: FailureSign): Signs {
  return [...signs.filter(({ by }) => by !== sign.by), sign].slice(-MAX_SIGNS);
}

/** Why these failures open the breaker, as a clause; undefined if they do not. */
export function findTripReason(signs: Signs, policy: BreakerPolicy): string | undefined {
  const last = signs.at(-1);
  if (last === undefined) return undefined;
  const inRow = (holds: (sign: FailureSign) => boolean) => signs.length - 1 - signs.findLastIndex((s) => !holds(s));
  const reached = (count: number, threshold: number) => threshold > 0 && count >= threshold;
  // Failures of different classes have nothing in common except that no file was changed.
  const idle = inRow(({ changed, kind }) => changed === false && kind === last.kind);
  if (reached(idle, policy.noChange))
    return idle === 1 ? 'a failure changed no file' : `${idle} failures in a row changed no file`;
  const testing = inRow(({ testOnly }) => testOnly === true);
  if (reached(testing, policy.testOnly)) return `only tests were changed ${testing} times in a row`;
  const denied = inRow((sign) => sign.denied);
  if (reached(denied, policy.permissionDenials)) return `${denied} refusals in a row, the last one: ${last.error}`;
  const same = inRow(({ error }) => error === last.error);
  if (reached(same, policy.sameError)) return `the same failure ${same} times in a row: ${last.error}`;
  const decline = declineOf(signs);
  if (reached(decline, policy.outputDecline)) return `the agent said ${decline} % less than in the attempt before`;
  return undefined;
}

/** Decrease of output between the last two failed attempts, in percent. */
function declineOf(signs: Signs): number {
  const [before, last] = signs.slice(-2).map(({ output }) => output);
  if (before === undefined || last === undefined || before < MIN_COMPARABLE_OUTPUT) return 0;
  return Math.floor((1 - last / before) * 100);
}

/** Normalises an error for comparison: the first line without numbers, ids and times. */
export function errorSignature(summary: string): string {
  const [first = ''] = summary.trim().split('\n');
  return first
    .replace(/\b[0-9a-f]{7,64}\b/gi, '…')
    .replace(/\d+(?:[.:]\d+)*/g, '…')
    .slice(0, 200);
}

/** A breaker shared by several runs. Times are ms since 1970. */
export interface Breaker {
  status: 'closed' | 'open' | 'half-open';
  signs: Signs;
  /** Why it opened. */
  reason?: string;
  openedAt?: number;
  /** Open: end of the cooldown; half-open: deadline of the trial. */
  until?: number;
  /** The trial attempt, while half-open. */
  trial?: string;
}

export const CLOSED_BREAKER: Breaker = { status: 'closed', signs: [] };

/** How long other attempts wait for a running trial before they ask again, in ms. */
const RETRY_ADMISSION_MS = 30_000;

type BreakerAdmission =
  | { admitted: true; breaker: Breaker }
  /** `until`, in ms since 1970, is when to ask again. */
  | { admitted: false; reason: string; until: number };

/**
 * Whether the attempt `who` may start: always while closed, never while open, and one at a time after the cooldown. A run
 * that a user submitted, resumed or retried (`askedAt`, ms since 1970) after the breaker opened is admitted immediately.
 */
export function admitTrial(
  breaker: Breaker,
  { who, now, policy, askedAt }: { who: string; now: number; policy: BreakerPolicy; askedAt?: number | undefined },
): BreakerAdmission {
  const { status, reason = 'too many failures', until = 0, openedAt = now } = breaker;
  if (status === 'closed' || breaker.trial === who) return { admitted: true, breaker };
  const asked = status === 'open' && askedAt !== undefined && askedAt > openedAt;
  if (!isDue(until, { now, longestMs: policy.cooldownMs }) && !asked)
    return { admitted: false, reason, until: status === 'open' ? until : now + RETRY_ADMISSION_MS };
  // A trial without an outcome blocks others for at most one cooldown.
  return { admitted: true, breaker: { ...breaker, status: 'half-open', trial: who, until: now + policy.cooldownMs } };
}

/** The breaker after a failure of `who`; a failed trial reopens it. */
export function afterFailure(
  breaker: Breaker,
  { who, sign, now, policy }: { who: string; sign: FailureSign; now: number; policy: BreakerPolicy },
): Breaker {
  const signs = addSign(breaker.signs, sign);
  if (breaker.status === 'open' || (breaker.status === 'half-open' && breaker.trial !== who))
    return { ...breaker, signs };
  const reason = breaker.status === 'half-open' ? `the trial failed: ${sign.error}` : findTripReason(signs, policy);
  if (reason === undefined) return { ...breaker, signs };
  return { status: 'open', signs, reason, openedAt: now, until: now + policy.cooldownMs };
}

/** The end of the name of a mirror. */
export const MIRROR_DIGEST = /-[0-9a-f]{32}$/;

/** The displayed name of a shared breaker: its repository's name, else its key. */
export function breakerName(key: string): string {
  return /^repository:(.+)$/.exec(key)?.[1]?.replace(MIRROR_DIGEST, '') ?? key;
}

/** The command that resets it. */
export function resetCommand(key: string): string {
  return `halo breaker reset ${printableShellWord(breakerName(key))}`;
}
