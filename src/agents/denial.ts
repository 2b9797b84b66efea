import type { ParsedLine } from './adapter.ts';
import { capText } from './cap.ts';

/** The agent was not permitted to do `what`. */
export function denial(what: string): ParsedLine {
  return { activities: [{ kind: 'warn', text: capText(`permission denied: ${what}`) }], denied: what };
}
