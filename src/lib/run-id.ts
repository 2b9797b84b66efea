const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 7;
const RANDOM_BYTES = 5;

/** The format of run ids. */
export const RUN_ID = /^[a-z0-9]{8,32}$/;

/**
 * Creates a run id of 15 characters: the second of `now`, so that ids sort by age, then 40 random bits. `random` returns
 * the given number of random bytes, like `randomBytes` of node:crypto.
 */
export function newRunId(now: Date, random: (bytes: number) => Uint8Array): string {
  const seconds = BigInt(Math.floor(now.getTime() / 1000));
  const noise = random(RANDOM_BYTES).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return toBase32(seconds, TIME_DIGITS) + toBase32(noise, (RANDOM_BYTES * 8) / 5);
}

/** The first id that a run of this second can have. */
export function firstRunId(at: Date): string {
  return newRunId(at, (bytes) => new Uint8Array(bytes));
}

function toBase32(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 32n) text = ALPHABET.charAt(Number(rest % 32n)) + text;
  return text;
}
