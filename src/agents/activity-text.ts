import type { ParsedLine } from './adapter.ts';

/** Shortens text to about `max` characters, most of them from the end, which usually contains the result. */
export function truncateMiddle(text: string, max = 4000): string {
  if (text.length <= max) return text;
  const head = Math.floor(max / 4);
  const tail = max - head;
  return `${text.slice(0, head)}\n… ${text.length - max} characters left out …\n${text.slice(-tail)}`;
}

/** The parsed line for an action that the agent was not permitted to do. */
export function denial(what: string): ParsedLine {
  return { activities: [{ kind: 'warn', text: truncateMiddle(`permission denied: ${what}`) }], denied: what };
}

/** A path of the sandbox, relative to the workspace if it is in it. */
export function fromWorkspace(path: string): string {
  return path.startsWith('/workspace/') ? path.slice('/workspace/'.length) : path;
}
