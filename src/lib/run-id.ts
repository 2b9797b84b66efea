const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const SECOND_DIGITS = 7;
const FRACTION_DIGITS = 2;
/** 1/1024 of a second, as much as the digits can express. */
const FRACTIONS = 32 ** FRACTION_DIGITS;
const RANDOM_DIGITS = 6;
const RANDOM_BYTES = 4;

/** The format of run ids. */
export const RUN_ID = /^[a-z0-9]{8,32}$/;

/**
 * Creates a run id of 15 characters: the time of `now`, in 1/1024 of a second, so that ids sort by age, then 30 random bits.
 * `random` returns the given number of random bytes, like `randomBytes` of node:crypto.
 */
export function newRunId(now: Date, random: (bytes: number) => Uint8Array): string {
  const ms = now.getTime();
  const fraction = Math.floor(((ms % 1000) * FRACTIONS) / 1000);
  const noise = random(RANDOM_BYTES).reduce((sum, byte) => sum * 256 + byte, 0);
  return (
    toBase32(Math.floor(ms / 1000), SECOND_DIGITS) +
    toBase32(fraction, FRACTION_DIGITS) +
    toBase32(noise, RANDOM_DIGITS)
  );
}

/** The first id that a run of this moment can have. */
export function firstRunId(at: Date): string {
  return newRunId(at, (bytes) => new Uint8Array(bytes));
}

/** The last digits of a number. */
function toBase32(value: number, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest = Math.floor(rest / 32)) text = ALPHABET.charAt(rest % 32) + text;
  return text;
}
