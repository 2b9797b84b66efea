import { readFile, writeFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import { EXAMPLE_PRD } from '../../../src/api/operations/schemas.ts';
import { buildOpenApi } from '../../../src/api/operations/openapi-document.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { writeApiReference } from './api-reference.ts';

const PAGE = new URL('../../../docs/api.md', import.meta.url);
const TOKEN = 'a-token-of-the-test';

let home: ScriptedHome;
let served: Served;

beforeAll(async () => {
  home = openScriptedHome();
  const host = { ...home.host, apiToken: TOKEN };
  served = await serveApi({ operations: home.operations, listen: '127.0.0.1:0', host });
});
afterAll(async () => {
  await served.close();
  await home.remove();
});

it('GET /v1/openapi.json returns a valid OpenAPI 3.1 document', async () => {
  const answer = await fetch(`${served.url}/v1/openapi.json`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(answer.headers.get('content-type')).toContain('application/json');
  const document = (await answer.json()) as Record<string, unknown>;
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
  expect(document).toEqual(JSON.parse(JSON.stringify(buildOpenApi())));
});

it('GET /v1/openapi.json needs the token', async () => {
  expect((await fetch(`${served.url}/v1/openapi.json`)).status).toBe(401);
  const wrong = openHttp({ url: served.url, token: 'wrong' });
  await expect(wrong.listRuns().then(({ runs }) => runs)).rejects.toMatchObject({ code: 'API_REFUSED' });
});

it('the server has a route for each operation, which needs the token', async () => {
  for (const { method, path } of ALL_OPERATIONS) {
    const url = `${served.url}${path.replace(/\{\w+\*?\}/g, 'none0000')}`;
    expect((await fetch(url, { method })).status).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await (await fetch(url, { method, headers })).text();
    expect(answer).not.toContain('in this API');
  }
});

it('the PRD of the examples is valid', () => {
  const { stories, warnings } = parsePrd(Buffer.from(EXAMPLE_PRD, 'base64'), 'prd.json');
  expect(stories.map(({ id }) => id)).toEqual(['US-001']);
  expect(warnings).toEqual([]);
});

it('docs/api.md is the reference of the operations', async () => {
  const page = writeApiReference();
  // With HALO_TEST_RECORD the page is written.
  if (process.env.HALO_TEST_RECORD !== undefined) await writeFile(PAGE, page);
  expect(await readFile(PAGE, 'utf8')).toBe(page);
});
