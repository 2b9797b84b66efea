import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verify } from '../../../../src/features/evidence/api/verify-commit.ts';
import { storyFacts } from '../../../../src/view/facts.ts';
import { readPatches } from '../../../../src/cli/diff/read-patches.ts';
import { reviewText } from '../../../../src/cli/output/review-text.ts';
import type { JournalEvent } from '../../../../src/core/journal/events.ts';
import { proofText, type Proof } from '../../../../src/core/review/proof.ts';
import { reviewRun } from '../../../../src/core/review/review.ts';
import { findStoryFindings } from '../../../../src/core/review/story-findings.ts';
import type { RunState } from '../../../../src/core/run/state.ts';
import type { FactCheck } from '../../../../src/features/evidence/worker/compare-proof.ts';
import { it as base } from '../../../support/fixtures.ts';
import { scripted, type TestHalo, type TestStory } from '../../../support/halo/halo.ts';
import {
  ADD_SUM,
  answerWith,
  HONEST_TESTS,
  TESTS_COMMAND,
  testsFirstAgent,
} from '../../../support/halo/tests-first.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';
import { skipFor } from '../../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../../support/suite/level.ts';

const PASSES = `echo 'import test from "node:test"; test("a", () => {});' > a.test.mjs`;
/** A test that passes before and after the story. */
const HOLDS = `cat > node.test.mjs <<'X'
import test from "node:test"; import assert from "node:assert";
test("still counts", () => assert.equal([1].length, 1));
X
`;
const better = `echo 'export function sum(a, b) { return a + b; }' > sum.mjs`;

/** The agent of a story that ends with this refactoring. */
const refactoring = (script: string) =>
  testsFirstAgent(
    HONEST_TESTS,
    `if grep -q 'Refactor the implementation' /tmp/prompt; then ${script}; else ${ADD_SUM} fi`,
  );

/** What an agent does instead of a good refactoring, in which story, how, and why it is dropped. */
const DROPPED = casesAtLevel<readonly [name: string, id: string, script: string, why: string]>(
  [
    [
      'breaks a test',
      'breaks',
      `echo 'export const sum = () => 0;' > sum.mjs`,
      'GATE_FAILED: 1 test failed: adds; gate exited 1',
    ],
    [
      'changes a locked test',
      'weakens',
      `${better}; echo >> sum.test.mjs`,
      'POLICY_VIOLATION: the tests of the story may not',
    ],
  ],
  [
    ['changes nothing', 'idles', 'true', 'the agent changed nothing'],
    [
      'skips a locked test',
      'skips',
      `echo 'process.exit(0)' > sum.mjs`,
      'GATE_FAILED: tests of the story did not run and pass',
    ],
    ['gives up', 'stops', `echo '{"status":"failed","summary":"No idea."}'; exit 0`, 'No idea.'],
    ['adds a link to a file outside', 'links', `${better}; ln -s /etc/passwd x`, 'POLICY_VIOLATION'],
  ],
);

/** The tests of this story pass before the change, and fail when the prompt says so. */
const SECOND_TESTS = `if grep -q 'passed before the change that they test: a' /tmp/prompt; then ${HONEST_TESTS}else ${PASSES}; fi`;
/** What the agent does in each story. */
const AGENTS: readonly (readonly [TestStory, agent: string])[] = [
  [{ id: 'sum', testsFirst: 'on' }, refactoring(better)],
  ...DROPPED.map(([, id, script]) => [{ id, testsFirst: 'on' }, refactoring(script)] as const),
  [{ id: 'second', testsFirst: 'on' }, testsFirstAgent(SECOND_TESTS, ADD_SUM)],
  [{ id: 'reported', testsFirst: 'report' }, testsFirstAgent(PASSES, ADD_SUM)],
  [{ id: 'plain' }, testsFirstAgent('exit 1', ADD_SUM)],
];

/** The stories above, each about a file of its name. */
async function runStories(halo: TestHalo) {
  const repository = newRepository({});
  const branches = AGENTS.map(([{ id }, script]) => `*'"${id}"'*) ${script.replaceAll(/\bsum\b/g, id)};;`);
  const agent = `cat > /tmp/all; exec < /tmp/all; case "$(head -n 1 /tmp/all)" in ${branches.join('\n')} esac`;
  const more = ['tests.refactor=true', 'retry.tests.retries=1', TESTS_COMMAND];
  const state = await halo.run(repository.root, AGENTS.map(([story]) => story), scripted(agent, ['true'], more)); // prettier-ignore
  return { repository, state, events: halo.journal(state.runId) };
}

const CRITERIA = ['1 and 2 are 3', 'lists still count'];

/** A story whose second criterion holds already, and whose first two attempts fail; with a retry after the end of the run. */
async function runAgain(halo: TestHalo) {
  const repository = newRepository({
    'old.test.mjs': 'import test from "node:test"; test("old", () => {});\n',
    'package.json': '{}',
  });
  const code = `if grep -q POLICY_VIOLATION /tmp/prompt; then ${ADD_SUM}
elif grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} echo > sum.test.mjs; else touch other; fi`;
  const agent = testsFirstAgent(`${HONEST_TESTS}${HOLDS}`, code, answerWith([['adds'], ['still counts']], [2]));
  const reports = ['tests.reports=["report.tap"]', 'tests.first="on"', 'tests.baseline="auto"', 'retry.attempts=2'];
  const command = 'tests.command="node --test --test-reporter=tap --test-reporter-destination=report.tap {files}"';
  const settings = scripted(agent, ['node --test --test-reporter=tap'], [...reports, command]);
  const ended = await halo.run(repository.root, [{ id: 'A', acceptanceCriteria: CRITERIA }], settings);
  await halo.operations.retry({ runId: ended.runId });
  const state = await halo.untilEnd(ended.runId);
  const path = join(halo.home, 'runs', state.runId, 'artifacts', state.stories[0]!.key, '3/proof.json');
  return {
    ...{ repository, ended, state, events: halo.journal(state.runId) },
    proof: () => JSON.parse(readFileSync(path, 'utf8')) as Proof,
    /** What halo verify finds with this record. */
    async verify(record: Proof): Promise<FactCheck[]> {
      const original = readFileSync(path);
      writeFileSync(path, proofText(record));
      const checks: FactCheck[] = [];
      const signal = new AbortController().signal;
      const query = { target: state.runId, folder: repository.root, trustProof: true, signal };
      for await (const verified of verify(halo.host, query)) checks.push(...verified.checks);
      writeFileSync(path, original);
      return checks;
    },
  };
}

const it = base
  .extend('stories', { scope: 'file' }, ({ halo }) => runStories(halo))
  .extend('again', { scope: 'file' }, ({ halo }) => runAgain(halo));

const storyOf = ({ stories }: RunState, id: string) => stories.find((story) => story.id === id)!;
const eventsOf = (events: readonly JournalEvent[], id: string) =>
  events.filter((event) => 'story' in event && event.story === id);
const phasesOf = (events: readonly JournalEvent[], id: string, attempt = 1) =>
  eventsOf(events, id).flatMap((event) =>
    event.type === 'phase.started' && event.attempt === attempt ? [event.phase] : [],
  );

describe('a story that begins with its tests', () => {
  it('lands as one commit with one proof, with tests that failed before it, and refactored', ({ halo, stories }) => {
    const { repository, state, events } = stories;
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const { key, attempts, commit = '', locked } = storyOf(state, 'sum');
    expect(attempts).toBe(1);
    expect(locked).toMatchObject({ files: [{ path: 'sum.test.mjs' }], cases: ['adds'] });
    expect(repository.git('rev-parse', `${commit}^`)).toBe(state.repo.base);
    expect(repository.git('show', '--format=', '--name-only', commit)).toBe('sum.mjs\nsum.test.mjs');
    expect(repository.git('show', `${commit}:sum.mjs`)).toContain('function sum');
    const folder = `artifacts/${key}/1`;
    const read = (path: string) => halo.readFile(state.runId, `${folder}/${path}`);
    expect(read('tests/prompt.md')).toContain('Write tests only');
    expect(read('prompt.md')).toContain('`sum.test.mjs`. Make them pass.');
    expect(read('refactor/prompt.md')).toContain('The story is implemented');
    expect(read('red/1.log')).toContain('not ok 1 - adds');
    expect(read('diff.patch')).toContain('function sum');
    expect(JSON.parse(read('proof.json'))).toMatchObject({
      commit,
      tests: { files: [{ path: 'sum.test.mjs' }], cases: ['adds'], green: { exitCode: 0 } },
      gates: [{ command: 'true' }],
    });
    const own = eventsOf(events, 'sum');
    expect(own).toContainEqual(expect.objectContaining({ type: 'refactor.ended', kept: true }));
    const logs = own.flatMap((event) => (event.type === 'gate.ended' ? [event.log] : []));
    expect(logs).toEqual(['gates/1.log', 'gates/2.log', 'refactor/gates/1.log', 'refactor/gates/2.log']);
    for (const log of logs) expect(read(log)).toBeDefined();
    expect(halo.readFile(state.runId, 'agent.log')).toContain('locked: sum.test.mjs (1 failed as they must)');
  });

  it.for(DROPPED)('lands without its refactoring if the agent of that %s', ([, id, , why], { halo, stories }) => {
    const { repository, state, events } = stories;
    const { progress, attempts, commit = '', key } = storyOf(state, id);
    expect([progress, attempts]).toEqual(['passed', 1]);
    expect(repository.git('show', `${commit}:${id}.mjs`)).toBe(`export const ${id} = (a, b) => a + b;`);
    expect(repository.git('show', '--format=', '--name-only', commit)).toBe(`${id}.mjs\n${id}.test.mjs`);
    const phases = ['prepare', 'tests', 'red', 'agent', 'export', 'import', 'gates', 'refactor', 'land'];
    expect(phasesOf(events, id)).toEqual(phases);
    const own = eventsOf(events, id);
    const ended = own.find((event) => event.type === 'refactor.ended');
    expect(ended).toMatchObject({ kept: false, why: expect.stringContaining(why) as string });
    expect(own.filter((event) => event.type === 'gate.ended').map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const logged = id === 'idles' ? /refactoring changed nothing/ : /refactoring dropped: /;
    const lines = halo.readFile(state.runId, 'agent.log').split('\n');
    expect(lines.filter((line) => line.includes(` ${id} `) && logged.test(line))).toHaveLength(1);
    expect(halo.readFile(state.runId, `artifacts/${key}/1/diff.patch`)).not.toContain(`function ${id}`);
  });

  it('writes them again if they do not fail, with a number of retries of their own and what was seen', ({
    halo,
    stories,
  }) => {
    const { state, events } = stories;
    const { key, progress, attempts } = storyOf(state, 'second');
    expect([progress, attempts]).toEqual(['passed', 2]);
    const retries = events.filter((event) => event.type === 'retry.scheduled');
    expect(retries).toMatchObject([{ story: 'second', class: 'tests', rule: 'hint', nth: 1, of: 1 }]);
    const read = (path: string) => halo.readFile(state.runId, `artifacts/${key}/2/${path}`);
    expect(read('tests/prompt.md')).toContain('TESTS_NOT_RED');
    expect(read('prompt.md')).not.toContain('TESTS_NOT_RED');
  });

  it('shows the tests of an attempt that ended with them, as halo diff does', async ({ halo, stories }) => {
    const { runId } = stories.state;
    const { patches } = await readPatches(halo.operations, runId, { story: 'second', attempt: 1 });
    expect(patches).toMatchObject([{ heading: expect.stringContaining('the tests that the attempt wrote') as string }]);
    expect(String(patches[0]?.patch)).toContain('+++ b/');
  });

  it('lands in spite of what is wrong with its tests if that is only reported, and status and show report it', ({
    halo,
    stories,
  }) => {
    const { state } = stories;
    const story = storyOf(state, 'reported');
    expect(story).toMatchObject({ progress: 'passed', attempts: 1 });
    const why = 'passed before the change that they test: a';
    expect(halo.readFile(state.runId, 'agent.log')).toContain('before the change: passed before the change');
    expect(story.testProblems).toEqual([{ step: 'red', why }]);
    expect(findStoryFindings(story)).toEqual([{ kind: 'unproven', text: `tests first, before the change: ${why}` }]);
  });

  it('has phases for tests only if its PRD or the settings say so', ({ stories }) => {
    expect(phasesOf(stories.events, 'plain').slice(0, 2)).toEqual(['prepare', 'agent']);
  });
});

describe('another attempt at a story whose tests are locked', () => {
  it('uses the same tests, writes no others and may not change them, also after the end of the run and a retry', ({
    halo,
    again,
  }) => {
    const { repository, ended, state, events } = again;
    expect(ended).toMatchObject({ stopReason: 'POLICY_VIOLATION', stories: [{ attempts: 2 }] });
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 3 }] });
    expect(phasesOf(events, 'A', 1)).toEqual(expect.arrayContaining(['tests', 'red', 'gates']));
    expect(phasesOf(events, 'A', 2).slice(0, 4)).toEqual(['prepare', 'agent', 'export', 'import']);
    expect(phasesOf(events, 'A', 3)).toEqual(['prepare', 'agent', 'export', 'import', 'gates', 'land']);
    const locked = events.filter((event) => event.type === 'tests.locked');
    expect(locked).toMatchObject([{ attempt: 1 }, { attempt: 2, from: 1 }, { attempt: 3, from: 1 }]);
    for (const each of locked) expect(each).toMatchObject({ commit: locked[0]!.commit, files: locked[0]!.files });
    const files = repository.git('show', '--format=', '--name-only', `halo/${state.runId}`);
    expect(files).toBe('node.test.mjs\nsum.mjs\nsum.test.mjs');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('written by attempt 1');
  });

  it('counts its tests once, which the gates run as well', ({ again }) => {
    const compared = again.events.filter(({ type }) => type === 'tests.compared');
    expect(compared).toMatchObject([{ before: 1, after: 3, removed: [] }]);
  });
});

describe('a criterion that holds before the story', () => {
  it('has a test that passes before the change, is locked, and is named in journal, log, record and review', ({
    halo,
    again,
  }) => {
    const { state, events, proof } = again;
    expect(state.stories).toMatchObject([{ locked: { holding: ['still counts'] } }]);
    const locked = events.find((event) => event.type === 'tests.locked');
    expect(locked).toMatchObject({
      criteria: [
        { n: 1, tests: ['adds'] },
        { n: 2, tests: ['still counts'] },
      ],
    });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('(1 failed as they must, 1 passed as declared)');
    expect(proof()).toMatchObject({ tests: { cases: ['still counts', 'adds'], holding: ['still counts'] } });
    const reviewed = reviewRun(events)!;
    const [review] = reviewed.stories;
    const facts = storyFacts(reviewed.state.stories[0]!);
    const shown = reviewText(
      { review: review!, files: [], doubts: [], words: 'passed', facts },
      { paint: (_tone, text) => text, width: 200 },
    );
    expect(shown.join('\n')).toContain('✓ 1 and 2 are 3\n      "adds" (locked)');
    expect(shown.join('\n')).toContain('! unproven: tests first, passed before the change, as declared: still counts');
    expect(halo.readFile(state.runId, 'history.md')).toContain('- locked tests: 2 of 2 passed\n');
    expect(halo.readFile(state.runId, 'history.md')).toContain('- [x] 1 and 2 are 3\n- [x] lists still count\n');
  });
});

describe('halo verify of a story with tests first', () => {
  const found = (checks: FactCheck[], name: string) => checks.find(({ what }) => what === name);

  it('confirms the tests before and after the change by name, and fails for a record that differs', async ({
    again,
  }) => {
    const record = again.proof();
    const good = await again.verify(record);
    const confirmed = { what: 'tests on the base', recorded: 'fail', found: 'fail', ok: true };
    expect(good).toContainEqual(confirmed);
    expect(found(good, 'tests after the change')).toMatchObject({ found: 'pass', ok: true });
    expect(good.filter(({ ok }) => ok === false)).toEqual([]);

    const { tests } = record;
    const [file, ...others] = tests!.files;
    const forged = { files: [{ ...file!, blob: '0'.repeat(40) }, ...others], cases: [...tests!.cases, 'more'] };
    const bad = await again.verify({ ...record, tests: { ...tests!, ...forged } });
    expect(found(bad, 'tests after the change')).toMatchObject({ found: 'not passed: more', ok: false });
    expect(found(bad, 'locked tests')).toMatchObject({ found: 'changed or missing', ok: false });
  });

  it(
    'fails for a record of a base on which they passed, or that does not say which may',
    skipFor(belowFull()),
    async ({ again }) => {
      const record = again.proof();
      const late = await again.verify({ ...record, startedFrom: record.commit });
      expect(found(late, 'tests on the base')).toMatchObject({ found: 'exit 0', ok: false });
      const { holding: _, ...unnamed } = record.tests!;
      const early = await again.verify({ ...record, tests: unnamed });
      expect(found(early, 'tests on the base')).toMatchObject({ found: 'not failed: still counts', ok: false });
    },
  );
});

describe('tests whose command prints no report', () => {
  it('are red if the command passes without them', async ({ halo }) => {
    const plain = 'tests.command="for each in {files}; do sh $each || exit 1; done"';
    const agent = testsFirstAgent(`echo 'test -f sum.mjs' > sum.test.sh; `, ADD_SUM);
    const settings = scripted(agent, [], ['tests.first="on"', 'tests.files=["*.test.sh"]', plain]);
    const state = await halo.run(newRepository({}).root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { cases: [] } }] });
    expect(halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/control/1.log`)).toBe('');
  });
});
