import { parseUntrustedJson } from '../../lib/parse-json.ts';
import type { ParsedLine } from '../adapter.ts';
import { truncateMiddle } from '../activity-text.ts';

/** A JSON object with a `status` is a candidate for the answer; every other line is the command talking. */
export function parseCommandLine(line: string): ParsedLine {
  const text = line.trimEnd();
  if (text === '') return { activities: [] };
  if (hasStatus(text)) return { activities: [], answerText: text };
  return { activities: [{ kind: 'say', text: truncateMiddle(text) }] };
}

function hasStatus(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  const value = parseUntrustedJson(text);
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'status');
}
