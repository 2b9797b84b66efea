/** What differs from one run of the same story to the next although nothing else happened: ids, times, durations. */
const UNSTEADY: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/\bChunk ID: \w+|"chunk_id":"\w+"/g, '<chunk>'],
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?/g, '<date>'],
  [/"wall_time_seconds":[\d.e-]+/g, '<time>'],
  [/\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds?|minutes?)\b/g, '<time>'],
  [/<total_tokens>\d+/g, '<total_tokens>'],
];

/** A JSON value without what differs by chance, to compare requests of two runs. */
export function steady(value: unknown): unknown {
  if (typeof value === 'string') return UNSTEADY.reduce((text, [pattern, word]) => text.replace(pattern, word), value);
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, steady(inner)]));
}
