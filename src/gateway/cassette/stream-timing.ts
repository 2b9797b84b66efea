/** The timing of a streamed response, recorded while it arrives. */
export interface StreamTiming {
  /** Records the time at which the response had this many bytes in total. */
  note(bytes: number): void;
  /** For each event of the body, in order, the ms between the request and the end of the event. */
  times(body: Buffer): number[];
}

/** `now` returns ms. */
export function createStreamTiming(now: () => number): StreamTiming {
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

/** Splits a stream into events, each with its terminating empty line. A document is one event. */
export function splitEvents(body: string): string[] {
  return body.split(/(?<=\n\r?\n)/);
}
