/** The parts of what git prints with `-z`; empty ones are left out. */
export function splitZero(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\0')
    .filter((part) => part !== '');
}
