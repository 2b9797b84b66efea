const LONGEST = 4_000;

/** The lines of a text, without those that are too long to name a test: a hostile one may be megabytes long. */
export function shortLines(text: string): string[] {
  return text.split('\n').filter((line) => line.length <= LONGEST);
}
