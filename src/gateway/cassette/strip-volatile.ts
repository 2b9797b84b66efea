/** Texts that differ between identical runs: ids, times, durations. */
const VOLATILE_PATTERNS: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/\bChunk ID: \w+|"chunk_id":"\w+"/g, '<chunk>'],
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?/g, '<date>'],
  [/"wall_time_seconds":[\d.e-]+/g, '<time>'],
  [/\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds?|minutes?)\b/g, '<time>'],
  [/<total_tokens>\d+/g, '<total_tokens>'],
];

/** Replaces volatile texts in a JSON value, to compare the requests of two runs. */
export function stripVolatile(value: unknown): unknown {
  if (typeof value === 'string')
    return VOLATILE_PATTERNS.reduce((text, [pattern, word]) => text.replace(pattern, word), value);
  if (Array.isArray(value)) return value.map(stripVolatile);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stripVolatile(inner)]));
}
