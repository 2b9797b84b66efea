import { FIELDS, KEY_SCHEMAS } from '../core/prd/fields.ts';
import { MAX_STORIES } from './diagnostics.ts';
import type { JsonDialect } from './dialect.ts';

/** A JSON Schema, or a part of one. */
export type Schema = Record<string, unknown>;

const SOME_ID = { type: ['string', 'number', 'null'] };

/** The value of a field, by the name that the table of fields has for it. */
const VALUES: Record<string, Schema> = {
  any: {},
  id: {
    description: 'Unique among the stories; numbers become text.',
    ...SOME_ID,
    maxLength: 200,
    pattern: '\\S',
  },
  text: { type: ['string', 'null'] },
  prose: {
    description: 'A text, or a list of its lines; an object is passed on to the agent as it is.',
    type: ['string', 'array', 'object', 'null'],
  },
  criteria: {
    description: 'A list, or one text that is split at its lines.',
    anyOf: [{ type: ['string', 'null'] }, { type: 'array', items: { type: ['string', 'object'] } }, { type: 'object' }],
  },
  needs: {
    description: 'Ids of the stories that must be done first.',
    anyOf: [SOME_ID, { type: 'array', items: { type: ['string', 'number', 'object'] } }],
  },
  looseNeeds: { description: 'Ids of stories that must be done first; anything else in it is text for the agent.' },
  flag: { description: 'Whether the story is done.', type: ['boolean', 'string', 'null'] },
  booleanFlag: { description: 'Whether the story is done, where it is true or false.' },
  status: { description: 'A word like todo, in_progress, done or blocked, in any spelling.' },
  priority: {
    description: 'Lower runs first; critical, high, medium and low count as 0 to 3.',
    type: ['number', 'string', 'null'],
  },
};

const refTo = (name: string): Schema => ({ $ref: `#/$defs/${name}` });

/** The properties of a story for some of its fields, by key. */
export function propertiesOf(...fields: (keyof typeof FIELDS)[]): Schema {
  return Object.fromEntries(
    fields.flatMap((field) => FIELDS[field].keys.map((key) => [key, refTo(FIELDS[field].schema)])),
  );
}

const TEXT_KEYS = [FIELDS.title, FIELDS.description, FIELDS.details].flatMap(({ keys }) => keys);

/** What the schemas of several dialects have in common; each has what it refers to. */
const PARTS: Record<string, Schema> = {
  ...VALUES,
  story: {
    type: 'object',
    anyOf: TEXT_KEYS.map((key) => ({ required: [key] })),
    properties: {
      ...Object.fromEntries(KEY_SCHEMAS.filter(([key]) => key !== 'subtasks').map(([key, part]) => [key, refTo(part)])),
      status: { ...VALUES.status, type: ['string', 'null'] },
    },
  },
  list: { type: 'array', maxItems: MAX_STORIES, items: refTo('story') },
  map: { type: 'object', additionalProperties: refTo('story') },
  filledMap: { type: 'object', minProperties: 1, additionalProperties: refTo('story') },
};

export const STORY = refTo('story');
export const LIST = refTo('list');
/** A list of stories, or a map of them by id. */
export const LIST_OR_MAP: Schema = { anyOf: [LIST, refTo('map')] };
export const LIST_OR_FILLED_MAP: Schema = { anyOf: [LIST, refTo('filledMap')] };

/** An object with one of these keys, whose value has this schema. */
export function objectWith(keys: readonly string[], value: Schema): Schema {
  return { anyOf: keys.map((key) => ({ required: [key], properties: { [key]: value } })) };
}

/** The JSON Schema of the files of a dialect. */
export function schemaOf({ id, schema }: Pick<JsonDialect, 'id' | 'schema'>): Schema {
  const used = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [key, value] of Object.entries(part)) {
      const name = key === '$ref' ? String(value).replace('#/$defs/', '') : undefined;
      if (name === undefined) visit(value);
      else if (!used.has(name)) {
        used.add(name);
        visit(PARTS[name]);
      }
    }
  };
  visit(schema);
  const { $defs: own = {}, ...root } = schema;
  const common = Object.fromEntries(Object.entries(PARTS).filter(([name]) => used.has(name)));
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `A PRD in the ${id} dialect`,
    ...root,
    ...(used.size === 0 ? {} : { $defs: { ...common, ...(own as Schema) } }),
  };
}
