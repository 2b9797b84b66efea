import { shellWord } from '../shell-word.ts';

/** When halo stops trying; 0 turns a threshold off. */
export interface BreakerPolicy {
  /** Failures in a row that changed no file. */
  noChange: number;
  /** Failures in a row with the same error. */
  sameError: number;
  /** How much less a failed attempt said than the one before it, in percent. */
  outputDecline: number;
  /** Failures in a row for a lack of permission. */
  permissionDenials: number;
  /** How long it stays open before one story may try, in ms. */
  cooldownMs: number;
}

/** What one failure says about whether trying goes on to make sense. */
export interface FailureSign {
  /** Whose it is: of several failures of one `by`, only the last counts. */
  by: string;
  /** The same for errors that are the same to a person. */
  error: string;
  /** Whether any file was changed; undefined: nobody knows, e.g. because the agent was never started. */
  changed: boolean | undefined;
  /** Characters that the agent printed. */
  output?: number | undefined;
  /** Whether permission was lacking. */
  denied: boolean;
  /** Its class; absent in what an older halo wrote. */
  kind?: string | undefined;
}

/** Failures since the last success, newest last. */
export type Signs = readonly FailureSign[];

/** More are never looked at: thresholds are not larger. */
const MOST_SIGNS = 100;
/** An attempt that said less than this is no measure for the next one. */
const TELLING_BYTES = 16 * 1024;

export function addSign(signs: Signs, sign: FailureSign): Signs {
  return [...signs.filter(({ by }) => by !== sign.by), sign].slice(-MOST_SIGNS);
}

/** Why to stop trying after these failures, as a clause for people; undefined: go on. */
export function findTrip(signs: Signs, policy: BreakerPolicy): string | undefined {
  const last = signs.at(-1);
  if (last === undefined) return undefined;
  const inRow = (holds: (sign: FailureSign) => boolean) => signs.length - 1 - signs.findLastIndex((s) => !holds(s));
  const reached = (count: number, threshold: number) => threshold > 0 && count >= threshold;
  // A hang, a crash and a lack of memory have nothing in common but that no file was changed.
  const idle = inRow(({ changed, kind }) => changed === false && kind === last.kind);
  if (reached(idle, policy.noChange))
    return idle === 1 ? 'a failure changed no file' : `${idle} failures in a row changed no file`;
  const denied = inRow((sign) => sign.denied);
  if (reached(denied, policy.permissionDenials)) return `permission was denied ${denied} times in a row`;
  const same = inRow(({ error }) => error === last.error);
  if (reached(same, policy.sameError)) return `the same failure ${same} times in a row: ${last.error}`;
  const decline = declineOf(signs);
  if (reached(decline, policy.outputDecline)) return `the agent said ${decline} % less than in the attempt before`;
  return undefined;
}

/** By how many percent the last failed attempt said less than the one before it. */
function declineOf(signs: Signs): number {
  const [before, last] = signs.slice(-2).map(({ output }) => output);
  if (before === undefined || last === undefined || before < TELLING_BYTES) return 0;
  return Math.floor((1 - last / before) * 100);
}

/** One error in all its spellings: numbers, ids and times are left out, and so is what follows the first line. */
export function errorSignature(summary: string): string {
  const [first = ''] = summary.trim().split('\n');
  return first
    .replace(/\b[0-9a-f]{7,64}\b/gi, '…')
    .replace(/\d+(?:[.:]\d+)*/g, '…')
    .slice(0, 200);
}

/** A breaker that several runs share. Times are ms since 1970. */
export interface Breaker {
  status: 'closed' | 'open' | 'half-open';
  signs: Signs;
  /** Why it opened. */
  reason?: string;
  openedAt?: number;
  /** Open: until when; half-open: until when the trial is waited for. */
  until?: number;
  /** Who tries, while half-open. */
  trial?: string;
}

export const CLOSED: Breaker = { status: 'closed', signs: [] };

/** How long others wait for a trial that goes on, before they ask again, in ms. */
const ASK_AGAIN_MS = 30_000;

export type Admission =
  | { admitted: true; breaker: Breaker }
  /** `until`, in ms since 1970, is when to ask again. */
  | { admitted: false; reason: string; until: number };

/**
 * Whether `who` may try: always while closed, nobody while open, and one at a time after the cooldown. What a person
 * started (`startedAt`, ms since 1970) after it had opened is that one at once.
 */
export function admit(
  breaker: Breaker,
  { who, now, policy, startedAt }: { who: string; now: number; policy: BreakerPolicy; startedAt?: number | undefined },
): Admission {
  const { status, reason = 'too many failures', until = 0, openedAt = now } = breaker;
  if (status === 'closed' || breaker.trial === who) return { admitted: true, breaker };
  const asked = status === 'open' && startedAt !== undefined && startedAt > openedAt;
  if (now < until && !asked) return { admitted: false, reason, until: status === 'open' ? until : now + ASK_AGAIN_MS };
  // A trial that never came to an end is waited for no longer than a cooldown.
  return { admitted: true, breaker: { ...breaker, status: 'half-open', trial: who, until: now + policy.cooldownMs } };
}

/** The breaker after a failure of `who`: in the trial it opens again at once. */
export function afterFailure(
  breaker: Breaker,
  { who, sign, now, policy }: { who: string; sign: FailureSign; now: number; policy: BreakerPolicy },
): Breaker {
  const signs = addSign(breaker.signs, sign);
  if (breaker.status === 'open' || (breaker.status === 'half-open' && breaker.trial !== who))
    return { ...breaker, signs };
  const reason = breaker.status === 'half-open' ? `the trial failed: ${sign.error}` : findTrip(signs, policy);
  if (reason === undefined) return { ...breaker, signs };
  return { status: 'open', signs, reason, openedAt: now, until: now + policy.cooldownMs };
}

/** What a person calls a breaker that runs share: the name of its repository, else its key. */
export function breakerName(key: string): string {
  return /^repository:(.+)-[0-9a-f]{8}$/.exec(key)?.[1] ?? key;
}

/** The command that closes it. */
export function resetCommand(key: string): string {
  return `halo breaker reset ${shellWord(breakerName(key))}`;
}
