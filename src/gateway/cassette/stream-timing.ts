/** When the pieces of a streamed answer came: noted while it is recorded, kept while it is replayed. */
export interface Pace {
  /** Notes that the answer has now this many bytes in all. */
  note(bytes: number): void;
  /** For each event of the body, in order, the ms from the request to its end. */
  times(body: Buffer): number[];
}

/** `now` in ms. */
export function createPace(now: () => number): Pace {
  const begun = now();
  const marks: { bytes: number; ms: number }[] = [];
  return {
    note: (bytes) => marks.push({ bytes, ms: Math.round(now() - begun) }),
    times(body) {
      let end = 0;
      let at = 0;
      return splitEvents(body.toString('latin1')).map((event) => {
        end += event.length;
        while (at < marks.length - 1 && (marks[at]?.bytes ?? 0) < end) at += 1;
        return marks[at]?.ms ?? 0;
      });
    },
  };
}

/** The events of a stream, each with the empty line that ends it; a document is one event. */
export function splitEvents(body: string): string[] {
  return body.split(/(?<=\n\r?\n)/);
}
