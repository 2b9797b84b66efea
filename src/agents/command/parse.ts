import type { ParsedLine } from '../adapter.ts';
import { capText } from '../cap.ts';

/** A JSON object with a `status` is a candidate for the answer; every other line is the command talking. */
export function parseCommandLine(line: string): ParsedLine {
  const text = line.trimEnd();
  if (text.trim() === '') return { activities: [] };
  if (hasStatus(text)) return { activities: [], answerText: text };
  return { activities: [{ kind: 'say', text: capText(text) }] };
}

function hasStatus(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    return Object.hasOwn(JSON.parse(text) as object, 'status');
  } catch {
    return false;
  }
}
