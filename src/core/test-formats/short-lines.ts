const LONGEST = 4_000;

/** The lines of a text, without those that are too long to name a test: a hostile one may be megabytes long. */
export function* shortLines(text: string): Generator<string> {
  for (let from = 0; from <= text.length;) {
    const at = text.indexOf('\n', from);
    const end = at < 0 ? text.length : at;
    if (end - from <= LONGEST) yield text.slice(from, end);
    from = end + 1;
  }
}
