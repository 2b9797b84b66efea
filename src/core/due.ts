/**
 * Whether a stored time has come. A time that is further ahead than the wait that it ends was stored while the clock was
 * wrong, and has come, too; Infinity never comes. `notBefore` and `now` are in ms since 1970, `longestMs` is a duration.
 */
export function isDue(notBefore: number, { now, longestMs }: { now: number; longestMs: number }): boolean {
  return notBefore <= now || (notBefore !== Infinity && notBefore - now > longestMs);
}
