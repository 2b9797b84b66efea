import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openForge } from '../../src/forge/open-forge.ts';
import { FAKE_PROJECT, openFakeForge } from '../support/forge/fake-forge.ts';
import { findGitHubFaults, type GitHubExchange } from '../support/forge/github-api.ts';
import type { RecordedAnswer } from '../support/forge/replay-forge.ts';

interface Recording {
  answers: RecordedAnswer[];
  limits: Record<string, RecordedAnswer>;
  refusals: Record<string, RecordedAnswer>;
}

const { answers, limits, refusals } = JSON.parse(
  readFileSync(new URL('fixtures/github.json', import.meta.url), 'utf8'),
) as Recording;
const all = [...answers, ...Object.values(limits), ...Object.values(refusals)];

function toExchange({ request, sent, status, body }: RecordedAnswer): GitHubExchange {
  const [method = '', url = ''] = request.split(' ');
  return { method, url, sent, status, body };
}

describe('the recorded answers of GitHub', () => {
  test.each(all.map((answer) => [answer.request, answer.status, answer] as const))(
    'follow its description: %s %i',
    (request, _status, answer) => {
      // What the tests send to a refused request is theirs.
      const sent = answer.sent ?? (request.startsWith('POST ') ? { body: 'x' } : undefined);
      expect(findGitHubFaults({ ...toExchange(answer), sent })).toEqual([]);
    },
  );

  type Change = (exchange: GitHubExchange & { body: Record<string, unknown> }) => void;
  test.each<[string, Change, RegExp]>([
    ['lacks a required field', ({ body }) => delete body['labels_url'], /required property 'labels_url'/],
    ['has a field of another type', ({ body }) => (body['number'] = '1347'), /\/number must be integer/],
    ['has a field that must not be null', ({ body }) => (body['title'] = null), /\/title must be string/],
    ['lacks a field of a person', ({ body }) => delete (body['user'] as { login?: string }).login, /\/user must/],
    ['has another status', (exchange) => (exchange.status = 201), /response 201 is not described/],
    [
      'is an error without a text',
      (exchange) => Object.assign(exchange, { status: 404, body: [] }),
      /404 body must be object/,
    ],
    ['is one to another path', (exchange) => (exchange.url += '/notes'), /no such operation/],
    ['is one to another method', (exchange) => (exchange.method = 'PUT'), /no such operation/],
    ['is one to an unknown parameter', (exchange) => (exchange.url += '?since=x'), /unknown parameter since/],
    ['is one to a body', (exchange) => (exchange.sent = {}), /request has a body/],
  ])('are refused if one %s', (_name, change, fault) => {
    const issue = all.find(({ request, status }) => request.endsWith('/issues/1347') && status === 200);
    const exchange = structuredClone(toExchange(issue!)) as Parameters<Change>[0];
    expect(findGitHubFaults(exchange)).toEqual([]);
    change(exchange);
    expect(findGitHubFaults(exchange).join()).toMatch(fault);
  });

  test.each<[string, unknown, RegExp]>([
    ['no body', undefined, /request has no body/],
    ['an unknown field', { body: 'x', text: 'x' }, /request body must NOT have additional properties: text/],
    ['a field of another type', { body: 7 }, /request \/body must be string/],
  ])('are refused if a comment is sent with %s', (_name, sent, fault) => {
    const created = all.find(({ status }) => status === 201)!;
    expect(findGitHubFaults({ ...toExchange(created), sent }).join()).toMatch(fault);
  });
});

test('the stand-in of GitHub refuses what GitHub does not describe, also as its own answer', async () => {
  const fake = await openFakeForge('github');
  onTestFinished(() => fake.close());
  fake.add({ number: 7, title: 7 as unknown as string });
  const address = { url: fake.url, tokenEnv: 'T', token: fake.token, maxWaitMs: 0, wait: () => Promise.resolve() };
  const forge = openForge({ forge: 'github', project: FAKE_PROJECT, label: 'halo' }, address);
  await expect(forge.findIssue(7)).rejects.toThrow('/title must be string');
  const headers = { authorization: `Bearer ${fake.token}` };
  const asked = await fetch(`${fake.url}/repos/${FAKE_PROJECT}/issues?label=halo`, { headers });
  expect([asked.status, await asked.text()]).toEqual([
    599,
    expect.stringContaining('unknown parameter label') as string,
  ]);
  expect(fake.faults.splice(0).length).toBeGreaterThan(1);
});
