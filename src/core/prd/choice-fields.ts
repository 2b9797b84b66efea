import { fieldEntry } from './field-entry.ts';
import type { Story } from './prd.ts';

/** What a story says about who works on it, as written. */
export interface ChoiceFields {
  agent?: string;
  model?: string;
  effort?: string;
}

/** Spellings of the fields, without case, spaces, `-` and `_`. */
const NAMES: Record<string, keyof ChoiceFields> = {
  agent: 'agent',
  model: 'model',
  effort: 'effort',
  reasoningeffort: 'effort',
};

const MAX_LENGTH = 200;

/** The fields `agent`, `model` and `effort` of a story: texts of one line. Other people may have written the PRD. */
export function choiceFieldsOf({ extra }: Pick<Story, 'extra'>): ChoiceFields {
  const fields: ChoiceFields = {};
  for (const [key, value] of Object.entries(extra)) {
    const name = fieldEntry(NAMES, key);
    const text = typeof value === 'string' ? value.trim().replace(/^`(.*)`$/, '$1') : '';
    if (name === undefined || text === '' || text.length > MAX_LENGTH || /\p{Cc}/u.test(text)) continue;
    fields[name] ??= name === 'model' ? text : text.toLowerCase();
  }
  return fields;
}
