import { describe, expect, it } from 'vitest';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { parseCommandLine, readAnswer } from '../../../src/agents/answer.ts';
import { parseClaudeLine } from '../../../src/agents/claude.ts';
import { parseCodexLine, readCodexOutcome } from '../../../src/agents/codex.ts';
import { buildPrompt } from '../../../src/agents/prompt/build-prompt.ts';
import { buildApp } from '../../../src/api/http/http-server.ts';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { readTests } from '../../../src/core/test-report/formats/read-tests.ts';
import { parseStrictJson } from '../../../src/gateway/model/read-model-request.ts';
import { commitMessage } from '../../../src/git/commit/commit-message.ts';
import { findProtected } from '../../../src/git/protect/protected-paths.ts';
import { mirrorName } from '../../../src/git/repository/repo-url.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';

/** Text made to keep a worker or a server busy, or to fill its memory. Nothing here needs a container. */

const config = (text: string) =>
  resolveConfig({ repo: parseConfigFile('/repo/halo.toml', `agent = "codex"\n${text}\n`), cwd: '/' });

describe('incident slow-globs: globs of a repository that take very long to match', () => {
  const deep = `${'a/'.repeat(30)}b`;
  const slow = [
    `${'**/'.repeat(24)}c`,
    `${'**/'.repeat(60)}c`,
    `${'**'.repeat(60)}c`,
    `${'*a'.repeat(90)}c`,
    `${'{a,a/}'.repeat(30)}c`,
    `${'{**/,}'.repeat(30)}c`,
  ];

  it.each(slow)('are matched in linear time: %s', async (glob) => {
    expect(await findProtected([deep, 'a'.repeat(4000), `${deep}/halo.toml`, 'db/c'], [glob, 'db/**'])).toEqual([
      'db/c',
    ]);
  });

  it('are limited in number and length, also over several files', () => {
    const file = (protect: string[]) => parseConfigFile('/x.toml', `land.protect = ${JSON.stringify(protect)}`);
    const refused = (repo: string[], home: string[] = []) =>
      expect(() => resolveConfig({ home: file(home), repo: file(repo), cwd: '/' }));
    const many = Array.from({ length: 60 }, () => 'a');
    refused([...many, ...many]).toThrow('land.protect: must be at most 100 globs');
    refused(many, many).toThrow('land.protect: must be at most 100 globs');
    refused(['a'.repeat(201)]).toThrow('must be at most 200 characters long');
    refused(Array.from({ length: 21 }, () => 'a'.repeat(200))).toThrow('4000 characters together');
  });
});

describe('incident slow-text: text that takes very long to search', () => {
  const long = 200_000;
  const blanks = ' '.repeat(long);
  const lines = (line: (index: number) => string, count = 20_000) =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n');
  const prd = (text: string, path = 'PRD.md') => parsePrd(Buffer.from(text), path);
  const spec = (line: string) => readTests(`${`✔ ${line}\n`.repeat(2000)}ℹ tests 1\n`);
  const story = {
    ...{ id: 'A', storyKey: 'a', title: 'A', description: '', notes: '', acceptance: [], dependsOn: [] },
    ...{ priority: undefined, status: 'pending' as const, extra: {} },
  };
  const prompt = (gate: string) =>
    buildPrompt({
      prd: { project: '', description: '', context: [] },
      story,
      progress: [],
      guidance: [],
      gates: [gate],
    });
  const message = (body: string) =>
    commitMessage({ template: '{id}', id: 'A', title: 'A', run: 'r', body, trailers: { 'Halo-Run': 'r' } });

  const cases: [name: string, read: () => unknown][] = [
    ['a setting of blanks', () => config(`setup = ["""\n${blanks}x"""]`)],
    ['a setting of blanks behind a bracket', () => config(`setup = ["""\n[${blanks}x"""]`)],
    ['many unknown keys', () => config(lines((index) => `k${index} = 1`))],
    ['a key of many parts', () => config(`${'a.'.repeat(long / 2)}a = 1`)],
    ['a long key', () => config(`${'a'.repeat(long)} = 1`)],
    ['many variables', () => config(`[env]\n${lines((index) => `K${index}_TOKEN = "xxxxxxxxxx"`)}`)],
    ['a variable of underscores', () => config(`env.${'_'.repeat(long)} = "x"`)],
    ['an address of slashes', () => config(`model.base_url = "http://x${'/'.repeat(long)}x"`)],
    ['a repository of slashes', () => mirrorName(`https://x${'/'.repeat(long)}x`)],
    ['a gate of blanks', () => prompt(`${blanks}x`)],
    ['a gate of backticks', () => prompt('`a'.repeat(long))],
    ['a summary of blanks', () => message(`${blanks}x`)],
    ['a PRD of empty lines', () => prd(`x${'\n'.repeat(long)}x`, 'prd.json')],
    ['a heading of signs', () => prd(`# ${'✅'.repeat(long)}x`)],
    ['a heading of dashes', () => prd(`# ${'-'.repeat(long)}x\n- [ ] T1 a`)],
    ['a heading of blanks', () => prd(`# T1: a\n- [ ] b\n## T2: ${blanks}x #y\n- [ ] b`)],
    ['a label of blanks', () => prd(`# T1: a\n**Status**: ${`done${blanks}`.repeat(3)}x\n- [ ] b`)],
    ['a reference of signs', () => prd(`- [ ] T1 a\n- [ ] T2 b\n  Depends on: ${'`'.repeat(long)}x`)],
    ['tests with blanks in their names', () => spec(`${' '.repeat(3900)}x`)],
    ['tests with times in their names', () => spec(' (1'.repeat(1300))],
    [
      'tests with files in their names',
      () => readTests(`= test session starts =\n${lines(() => 'a.py::'.repeat(400), 2000)}`),
    ],
  ];

  it.each(cases)(
    '%s',
    (_name, read) => {
      try {
        read();
      } catch (error) {
        expect(error).toBeInstanceOf(HaloError);
        expect((error as HaloError).message.length).toBeLessThan(60_000);
      }
    },
    30_000,
  );
});

describe('incident report-bomb: a test report that fills the memory', () => {
  // Several times what the limits of tests and of the characters of their names allow.
  const size = (LEVEL >= FULL ? 8 : 3) * 1024 * 1024;
  const maxCharacters = 16 * 1024 * 1024;
  const name = 'n'.repeat(3700);
  const fill = (head: string, line: string, end = '') =>
    `${head}${line.repeat(Math.floor((size - head.length) / line.length))}${end}`;
  const nested = (indent: string, mark: string) =>
    Array.from({ length: 100 }, (_, depth) => `${indent.repeat(depth)}${mark}${name}\n`).join('');

  it.each([
    ['nested TAP', fill(`TAP version 14\n${nested(' ', '# Subtest: ')}`, `${' '.repeat(120)}ok\n`)],
    ['nested suites for people', fill(nested('  ', '▶ '), `${'  '.repeat(100)}✔ t\n`, 'ℹ tests 1\n')],
    ['many tests', `TAP version 14\n${'ok\n'.repeat(LEVEL >= FULL ? 2_800_000 : 200_000)}`],
    ['JUnit', fill('<testsuite>', `<testcase classname="${name}" name="${name}"/>`)],
    ['a JSON report', fill('{"testResults":[', '1,', '1]}')],
  ])('%s', (_name, text) => {
    const tests = readTests(text) ?? [];
    expect(tests.length).toBeLessThanOrEqual(100_000);
    expect(Math.max(0, ...tests.slice(0, 1000).map((test) => test.name.length))).toBeLessThanOrEqual(1000);
    expect(tests.reduce((sum, test) => sum + test.name.length, 0)).toBeLessThanOrEqual(maxCharacters + 1000);
  });
});

describe('incident json-bomb: JSON with more values than fit in memory', () => {
  const count = LEVEL >= FULL ? 4_000_000 : 1_000_000;
  const many = `[${'1,'.repeat(count)}1]`;

  it('is not accepted as a request to a model', () => {
    expect(parseStrictJson(`{"model":"x","input":${many}}`)).toEqual({ fault: 'holds more than 100000 values' });
    expect(parseStrictJson('['.repeat(1_000_000))).toEqual({ fault: 'is nested deeper than 100 levels' });
    const text = 'x\\"'.repeat(count * 2);
    expect(parseStrictJson(`{"file":"${text}"}`)).toMatchObject({ value: {} });
  });

  it('is not accepted as a request to the API', async () => {
    const token = 'x'.repeat(32);
    const app = buildApp({
      access: ownerAccess(() => Promise.reject(new Error('this test calls no operation')), token),
    });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/runs',
      headers,
      payload: `{"set":${many}}`,
    });
    const few = await app.inject({
      method: 'POST',
      url: '/v1/runs',
      headers,
      payload: `{"set":[${'1,'.repeat(999)}1]}`,
    });
    await app.close();
    expect([answer.statusCode, few.statusCode]).toEqual([400, 400]);
    expect(answer.json()).toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('too many values') as string,
    });
    expect(few.body.length).toBeLessThan(4000);
  });

  it('is not accepted as a line or an answer of an agent', () => {
    expect(parseClaudeLine(`{"type":"assistant","message":{"content":${many}}}`).activities).toEqual([]);
    const change = `{"id":"x","type":"file_change","status":"completed","changes":${many}}`;
    expect(parseCodexLine(`{"type":"item.completed","item":${change}}`).activities).toEqual([]);
    expect(readAnswer(many)).toMatchObject({ kind: 'invalid' });
    expect(parseCommandLine(`{"status":"ok","summary":${many}}`).answerText).toBeUndefined();
    expect(parseCommandLine(`{"status":"ok","x":${'['.repeat(4_000_000)}`).answerText).toBeUndefined();
    const end = {
      exitCode: 1,
      stderrTail: '',
      answerText: undefined,
      error: `{"error":{"message":"x","more":${many}}}`,
    };
    expect(readCodexOutcome(end)).toMatchObject({
      kind: 'error',
      error: expect.stringMatching(/^Codex failed: \{"error"/) as string,
    });
  });

  it('is not accepted as configuration', () => {
    for (const text of [`a = ${'['.repeat(60_000)}`, `${'a.'.repeat(60_000)}b = 1`, `[${'a.'.repeat(60_000)}b]`])
      expect(() => config(text)).toThrow(HaloError);
  });
});
