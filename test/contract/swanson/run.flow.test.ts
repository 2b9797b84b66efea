import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => {
  halo = await openHalo();
});
afterAll(() => halo.close());
beforeEach(() => {
  repository = newRepository();
});

interface SwansonStory {
  id: string;
  title: string;
  acceptanceCriteria: string[];
}

const HEALTH: SwansonStory = {
  id: 'US-001',
  title: 'Basic health check',
  acceptanceCriteria: ['health() has the status 200', 'its body says healthy', 'it takes less than 100 ms'],
};
const UPTIME: SwansonStory = { id: 'US-002', title: 'Show the uptime', acceptanceCriteria: ['uptime() is a number'] };

function prdOf(stories: SwansonStory[], description = 'An endpoint for monitoring'): string {
  const userStories = stories.map((story, index) => ({
    description: story.title,
    priority: index + 1,
    complexity: 'simple',
    passes: false,
    ...story,
  }));
  return JSON.stringify({ type: 'feature', name: 'Health check', description, userStories });
}

/** Submits `prds/001-FEAT-health.json` of the repository, as its owner, and follows the run to its end. */
async function run(stories: SwansonStory[], settings: string[]) {
  const path = join(repository.root, 'prds/001-FEAT-health.json');
  repository.write('prds/001-FEAT-health.json', prdOf(stories));
  const prd = { path, bytes: new Uint8Array(readFileSync(path)) };
  const request = { prd, repos: [repository.root], profile: undefined, allowDirty: true };
  const [submitted] = (await halo.operations.submit({ ...request, set: settings })).runs;
  return halo.untilEnd(submitted!.runId);
}

/** The folder of a story's artifacts. */
const folderOf = (state: { stories: { key: string }[] }, index: number) => `artifacts/${state.stories[index]!.key}`;

const testFile = (name: string, body: string) =>
  `import { test as check } from 'node:test'; import assert from 'node:assert/strict'; import * as app from '../src/app.js';
check('${name}', () => { ${body} });`;

/** Writes a file of the workspace in the script of an agent. */
const write = (path: string, text: string) => `mkdir -p $(dirname ${path}); cat > ${path} <<'END'\n${text}\nEND\n`;

/** The prompt of the fix attempt contains the failure. */
const ON_FIX = (first: string, fix: string) =>
  `p=$(cat); case "$p" in *"last attempt failed"*)\n${fix}\n;; *)\n${first}\n;; esac; ${OK}`;

const GATE = 'node --test "tests/**/*.test.js"';
const HEALTHY = `export const health = () => ({ status: 200, body: { status: 'healthy' } });`;
const HEALTHY_TEST = testFile('the body says healthy', "assert.equal(app.health().body.status, 'healthy');");
const SICK = HEALTHY.replace('healthy', 'sick');
const UPTIME_TEST = write(
  'tests/us-002.test.js',
  testFile('the uptime is a number', "assert.equal(typeof app.uptime(), 'number');"),
);
const UP = 'export const uptime = () => process.uptime();';
const HEALTH_TEST = write('tests/us-001.test.js', HEALTHY_TEST);
const FIRST = `${write('src/app.js', HEALTHY)}${HEALTH_TEST}`;

describe('a run of the PRD with which swanson tests itself', () => {
  it('lands the story with its tests, and updates state, history and the PRD', async () => {
    const script = `${write('src/app.js', HEALTHY)}${HEALTH_TEST}${OK}`;
    const state = await run([HEALTH], scripted(script, [GATE], ['tests.baseline=auto']));
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [{ id: 'US-001', progress: 'passed', attempts: 1 }],
    });
    const { commit } = state.stories[0]!;
    expect(repository.git('show', '--name-only', '--format=%s', commit!).split('\n')).toEqual([
      'feat: [US-001] - Basic health check',
      '',
      'src/app.js',
      'tests/us-001.test.js',
    ]);
    const history = halo.readFile(state.runId, 'history.md');
    for (const line of [
      '- title: Basic health check',
      '001-FEAT-health.json',
      `- commit: ${commit}`,
      '- tests: 0 before, 1 after',
    ])
      expect(history).toContain(line);
    expect(history).toMatch(/## \d{4}-\d\d-\d\d \d\d:\d\d UTC - US-001 passed/);
    expect(readFileSync(join(repository.root, 'prds/001-FEAT-health.json'), 'utf8')).toContain('"passes":true');
    const record = JSON.parse(halo.readFile(state.runId, 'run.json')) as { progress: unknown };
    expect(record.progress).toMatchObject({ total: 1, completed: ['US-001'], current: null, next: null });
  });
});

describe('a story whose tests fail after the implementation (US-001, US-004)', () => {
  let state: RunState;
  beforeAll(async () => {
    repository = newRepository();
    const script = ON_FIX(
      `${write('src/app.js', SICK)}${HEALTH_TEST}`,
      `${write('src/app.js', HEALTHY)}${HEALTH_TEST}`,
    );
    state = await run([HEALTH], scripted(script, [GATE], ['retry.attempts=2']));
  });

  it('gets a fix attempt with the output of the tests, the story and the kind of failure, and lands', () => {
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    const prompt = halo.readFile(state.runId, `${folderOf(state, 0)}/2/prompt.md`);
    for (const text of ['US-001: Basic health check', 'GATE_FAILED', '✗ the body says healthy', "'sick' !== 'healthy'"])
      expect(prompt).toContain(text);
    expect(halo.readFile(state.runId, 'history.md')).toMatch(/US-001 failed[^]*US-001 passed/);
  });

  it('stops after its last attempt with the story, the test and its output, and lands nothing', async () => {
    const script = `${write('src/app.js', SICK)}${HEALTH_TEST}${OK}`;
    const state = await run([HEALTH, UPTIME], scripted(script, [GATE], ['retry.attempts=2']));
    expect(state).toMatchObject({ stopReason: 'ATTEMPTS_EXHAUSTED', stories: [{ attempts: 2 }, { attempts: 0 }] });
    expect(state.detail).toContain('US-001');
    expect(halo.readFile(state.runId, 'debug_bundle/summary.md')).toContain('the body says healthy');
    expect(halo.readFile(state.runId, 'agent.log')).toContain("'sick' !== 'healthy'");
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
    expect(halo.readFile(state.runId, 'history.md')).toMatch(/US-001 failed[^]*US-001 failed/);
  });

  it('records the phases of each attempt in order', () => {
    const phases = halo.journal(state.runId).flatMap((event) => {
      if (event.type === 'phase.started') return [event.phase];
      return event.type === 'story.ended' ? [event.verdict] : [];
    });
    const attempt = ['prepare', 'agent', 'export', 'import', 'gates'];
    expect(phases.filter((phase) => phase !== 'setup')).toEqual([...attempt, 'failed', ...attempt, 'land', 'passed']);
  });
});

describe('the tests of passed stories (US-002, US-003)', () => {
  it('run with every later story: one that breaks them learns which test it broke, and lands when it is fixed', async () => {
    const second = ON_FIX(
      `case "$p" in *"US-002: Show"*)\n${write('src/app.js', UP)}${UPTIME_TEST};; *)\n${FIRST};; esac`,
      `${write('src/app.js', `${HEALTHY}\n${UP}`)}${UPTIME_TEST}`,
    );
    const state = await run([HEALTH, UPTIME], scripted(second, [GATE], ['retry.attempts=2']));
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }, { attempts: 2 }] });
    const failed = halo
      .journal(state.runId)
      .find((event) => event.type === 'story.ended' && event.verdict === 'failed');
    expect(failed).toMatchObject({ story: 'US-002', stopReason: 'GATE_FAILED' });
    expect(halo.readFile(state.runId, `${folderOf(state, 1)}/2/prompt.md`)).toContain('✗ the body says healthy');
    const files = repository.git('ls-tree', '-r', '--name-only', `halo/${state.runId}`);
    expect(files).toContain('tests/us-001.test.js\ntests/us-002.test.js');
  });
});

// One attempt is in test/e2e/story.flow.test.ts, removed tests are in test/worker/attempt.
describe('other settings of swanson', skipFor(belowFull()), () => {
  it('cannot be removed by a later story, if this is configured', async () => {
    const second = `p=$(cat); case "$p" in *"US-002: Show"*)\nrm tests/us-001.test.js; ${write('src/app.js', UP)}${UPTIME_TEST};; *)\n${FIRST};; esac; ${OK}`;
    const state = await run(
      [HEALTH, UPTIME],
      scripted(second, [GATE], ['tests.removed="block"', 'tests.baseline=auto']),
    );
    expect(state).toMatchObject({
      stopReason: 'GATE_FAILED',
      stories: [{ progress: 'passed' }, { progress: 'failed' }],
    });
    expect(state.detail).toContain('the body says healthy');
  });

  it('is not attempted again with one attempt, as swanson blocks', async () => {
    const script = `${write('src/app.js', SICK)}${HEALTH_TEST}${OK}`;
    const state = await run([HEALTH], scripted(script, [GATE]));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ attempts: 1 }] });
    expect(state.detail).toContain('the body says healthy');
  });

  it('can be a gate of their own after the tests of the story, and both run again after a fix', async () => {
    const gates = ['node --test tests/us-002.test.js', 'node --test tests/us-001.test.js'];
    repository.write('src/app.js', HEALTHY);
    repository.write('tests/us-001.test.js', HEALTHY_TEST);
    repository.commit('US-001');
    const script = ON_FIX(
      `${write('src/app.js', UP)}${UPTIME_TEST}`,
      `${write('src/app.js', `${HEALTHY}\n${UP}`)}${UPTIME_TEST}`,
    );
    const state = await run([UPTIME], scripted(script, gates, ['retry.attempts=2']));
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    const ran = halo.journal(state.runId).flatMap((event) => {
      return event.type === 'gate.ended' ? [`${event.attempt}: ${event.command.slice(-14)} ${event.exitCode}`] : [];
    });
    expect(ran).toEqual(
      [1, 2].flatMap((attempt) => [`${attempt}: us-002.test.js 0`, `${attempt}: us-001.test.js ${2 - attempt}`]),
    );
  });
});

describe('the prompt of a PRD of swanson', () => {
  it('has at most 15000 tokens unless another limit is set, and says what is missing', async () => {
    const words = 'A standard that every change follows. '.repeat(3000);
    writeFileSync(join(repository.root, 'standards.md'), `# Standards\n\n${words}\n`);
    repository.commit('standards');
    const bytes = new TextEncoder().encode(prdOf([HEALTH]));
    const preview = (set: string[]) =>
      halo.operations.previewPrompt({
        prd: { path: '/tmp/prd.json', bytes },
        repo: repository.root,
        story: 'US-001',
        profile: undefined,
        set: [...scripted(OK), 'prompt.standards=["standards.md"]', ...set],
      });
    const limited = await preview([]);
    expect(limited).toMatchObject({ maxTokens: 15_000, fits: true });
    expect(limited.tokens).toBeLessThanOrEqual(15_000);
    expect(limited.text).toContain('standards (standards.md): all but the first');
    expect((await preview(['prompt.max_tokens=0'])).tokens).toBeGreaterThan(25_000);
  });
});
