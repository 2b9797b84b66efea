import { buildPrompt } from '../../../src/agents/prompt/build-prompt.ts';
import type { Prd } from '../../../src/core/prd/prd.ts';

/** Everything that agents and people receive of a PRD: the prompts of its stories, and findings of reading it. */
export function toldOf(prd: Prd): string {
  const prompts = prd.stories.map((story) => buildPrompt({ prd, story, progress: [], guidance: [], gates: [] }).text);
  return [...prompts, ...prd.warnings].join('\n');
}

/** The words of four letters and more of a text that no agent or person receives. */
export function wordsLost(text: string, prd: Prd, except: readonly string[] = []): string[] {
  const reported = new Set(wordsOf(toldOf(prd)));
  const known = new Set(except.flatMap(wordsOf));
  return [...new Set(wordsOf(text))].filter((word) => !reported.has(word) && !known.has(word));
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]{4,}/gu) ?? [];
}

/** All texts in a JSON value, but those under keys that say how far a story is, when it runs or what it is called. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => (NO_TEXT.test(key) ? [] : textsIn(member)));
}

const NO_TEXT = /^(?:status|state|priority|branchName)$/i;
