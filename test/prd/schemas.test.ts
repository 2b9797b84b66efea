import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { FIELDS } from '../../src/core/prd/fields.ts';
import { markDone } from '../../src/prd/mark-done.ts';
import { readPrdFile } from '../../src/prd/parse-prd.ts';
import { DIALECTS } from '../../src/prd/dialect-registry.ts';
import { schemaOf } from '../../src/prd/json-schema.ts';
import type { Dialect } from '../../src/prd/dialect.ts';
import { JSON_WRITERS, toBytes, type Json, type JsonId, type JsonWriter } from '../support/prd/prd-writers.ts';

const FOLDER = new URL('../../schemas/', import.meta.url);
const DIALECT_IDS = Object.keys(JSON_WRITERS) as JsonId[];

const readSchema = (dialect: JsonId) => schemaOf(DIALECTS[dialect]);

const JSON_DIALECTS = Object.values<Dialect>(DIALECTS).flatMap((each) => (each.format === 'json' ? [each] : []));

describe.each(JSON_DIALECTS)('the file of the schema of $id', (dialect) => {
  test('is what the sources say', () => {
    const file = new URL(`${dialect.id}.schema.json`, FOLDER);
    const text = `${JSON.stringify(schemaOf(dialect), undefined, 2)}\n`;
    // `npm run schemas` writes the files.
    if (process.env.HALO_TEST_RECORD !== undefined) writeFileSync(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

test('each JSON dialect has a schema, and no other', () => {
  const json = Object.values(DIALECTS).filter(({ format }) => format === 'json');
  // The body of webhooks has a schema, too.
  const schemas = readdirSync(FOLDER).filter((name) => name !== 'webhook.schema.json');
  expect(schemas.sort()).toEqual(json.map(({ id }) => `${id}.schema.json`).sort());
});

describe.each(DIALECT_IDS)('the schema of %s', (dialect) => {
  const { document, story }: JsonWriter = JSON_WRITERS[dialect];
  const accepts = new Ajv2020({ allowUnionTypes: true, strictRequired: false, strictTypes: false }).compile(
    readSchema(dialect),
  );
  const isRead = (json: unknown) => {
    try {
      readPrdFile(toBytes(JSON.stringify(json)), 'prd', { as: dialect === 'daedalus' ? dialect : undefined });
      return true;
    } catch {
      return false;
    }
  };
  const a = story({ id: 'a', done: false });
  const titleKey = FIELDS.title.keys.find((key) => key in a) ?? 'description';
  const acceptanceKey = FIELDS.acceptance.keys.find((key) => key in a && key !== 'subtasks')!;
  const idKey = FIELDS.id.keys.find((key) => key in a)!;
  const flagKey = FIELDS.flag.keys.find((key) => key in a);
  const needsKey = FIELDS.dependsOn.keys.find((key) => key in story({ id: 'a', needs: [] }));

  test.each<[string, Json[]]>([
    ['stories', [a, story({ id: 'b', done: true, needs: needsKey === undefined ? [] : ['a'] })]],
    ['no stories', []],
    ['keys of its own', [{ ...a, owner: 'ada', nested: { deep: [1, null] } }]],
    ['no notes and no status', [{ ...a, notes: null, status: null }]],
  ])('accepts a file with %s, like the parser', (_what, stories) => {
    accepts(document(stories));
    expect(accepts.errors ?? []).toEqual([]);
    expect(isRead(document(stories))).toBe(true);
  });

  test('accepts what halo writes, like the parser', () => {
    const { prd } = readPrdFile(toBytes(JSON.stringify(document([a]))), 'prd', { as: dialect });
    const written = DIALECTS[dialect].write(prd).trim();
    // The schema is that of the list.
    accepts(JSON.parse(dialect === 'beads' ? `[${written.replaceAll('\n', ',')}]` : written));
    expect(accepts.errors ?? []).toEqual([]);
  });

  test.each<[string, unknown[]]>([
    ['a story that is a text', ['do it']],
    ['a story without any text', [{ [idKey]: 'a' }]],
    ['a title that is a number', [{ ...a, [titleKey]: 7 }]],
    ['criteria that are true', [{ ...a, [acceptanceKey]: true }]],
    ['a criterion that is a number', [{ ...a, [acceptanceKey]: [3] }]],
    ['an id that is a list', [{ ...a, [idKey]: [] }]],
    ['an empty id', [{ ...a, [idKey]: ' ' }]],
    ['an id that is too long', [{ ...a, [idKey]: 'x'.repeat(201) }]],
    ...(flagKey === undefined ? [] : [['a flag that is a number', [{ ...a, [flagKey]: 1 }]] as [string, unknown[]]]),
    ...(needsKey === undefined ? [] : [['needs that are true', [{ ...a, [needsKey]: true }]] as [string, unknown[]]]),
  ])('refuses %s, like the parser', (_what, stories) => {
    expect(accepts(document(stories as Json[]))).toBe(false);
    expect(isRead(document(stories as Json[]))).toBe(false);
  });
});

test('a file may name its schema, which marking keeps', () => {
  const text = '{"$schema": "https://example.org/x.json", "userStories": [{"id": "a", "title": "A", "steps": ["b"]}]}';
  const { prd } = readPrdFile(toBytes(text), 'prd.json');
  expect(prd).toMatchObject({ dialect: 'ralph', context: [], warnings: [] });
  const { bytes } = markDone(toBytes(text), 'prd.json', { landed: prd.stories, before: [] });
  expect(new TextDecoder().decode(bytes)).toBe(text.replace('["b"]}', '["b"], "passes": true}'));
});

test('schemas know every spelling that the parser knows', () => {
  const { $defs } = readSchema('ralph') as { $defs: { story: { properties: Json } } };
  const known = Object.keys($defs.story.properties);
  const needs = [...FIELDS.dependsOn.keys, ...FIELDS.looseNeeds.keys];
  const progress = [...FIELDS.flag.keys, ...FIELDS.booleanFlag.keys, ...FIELDS.status.keys];
  const read = [...FIELDS.id.keys, ...FIELDS.title.keys, ...FIELDS.acceptance.keys, ...needs, ...progress];
  expect(read.filter((key) => !known.includes(key))).toEqual(['subtasks']);
});
