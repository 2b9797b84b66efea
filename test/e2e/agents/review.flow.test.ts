import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_PROGRAMS } from '../../../src/core/agent-program.ts';
import { verify } from '../../../src/features/evidence/api/verify-commit.ts';
import { openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { casesAtLevel } from '../../support/suite/level.ts';

const KEYS = { author: 'sk-test-author-51c2', reviewer: 'sk-ant-test-reviewer-9e07' };
const OTHER_KEY = 'HALO_TEST_REVIEWER_KEY';

const write = (content: string): Turn[] => [
  { write: 'greeting.txt', content },
  { json: { status: 'ok', summary: 'THE AUTHOR SAYS: all is done.' } },
];
const finding = { path: 'greeting.txt', line: 1, severity: 'blocking', criterion: 1, text: 'It greets in capitals.' };
const answer = (findings: unknown[], met: string): Turn => ({
  json: { status: 'ok', summary: 'Read it.', findings, judged: [{ n: 1, met }] },
});

let halo: ModelHalo;
beforeAll(async () => {
  process.env[OTHER_KEY] = KEYS.reviewer;
  halo = await openModelHalo(KEYS.author);
});
afterAll(async () => {
  delete process.env[OTHER_KEY];
  await halo.close();
});

describe('a story of Codex that Claude Code reviews', () => {
  it('is sent back once and lands when the reviewer agrees; the review replays, and the commit is verified', async () => {
    const server = await halo.serve([
      {
        match: 'Review one change',
        turns: [
          { run: 'cat greeting.txt; touch written.txt; git log -1 --format=%B; cat AGENTS.md' },
          answer([finding], 'no'),
          answer([{ ...finding, severity: 'note', text: 'A full stop would be nice.' }], 'yes'),
        ],
      },
      { turns: [...write('HELLO\n'), ...write('hello\n')] },
    ]);
    const repository = halo.newRepository({ 'AGENTS.md': 'Greet in lower case.', 'CLAUDE.md': 'GUIDANCE' });
    const settings = [
      ...['agent=codex', `model.base_url=${server.url}`, 'model.key_env=HALO_TEST_MODEL_KEY', 'model.mode=record'],
      ...[`providers.anthropic.base_url=${server.url}`, `providers.anthropic.key_env=${OTHER_KEY}`],
      ...['review.when=always', 'gates=["grep -i hello greeting.txt"]', 'retry.attempts=1', 'budget.run_usd=5'],
    ];
    const stories = [{ id: 'hello', acceptanceCriteria: ['It greets in lower case.'] }];
    const state = await halo.run(repository.root, stories, settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 2 }] });
    const commit = state.stories[0]!.commit!;
    expect(repository.git('show', `${commit}:greeting.txt`)).toBe('hello');
    expect(server.remaining()).toBe(0);

    const reviews = server.requests.filter(({ body }) => body.includes('Review one change'));
    expect(reviews.map(({ headers }) => headers['x-api-key'])).toEqual(Array(3).fill(KEYS.reviewer));
    for (const { body } of reviews) expect(body).not.toMatch(/THE AUTHOR SAYS|Greet in lower case|GUIDANCE/);
    expect(reviews[1]!.body).toContain('Read-only file system');
    expect(reviews[1]!.body).toContain('The change to review');
    const others = server.requests.filter((request) => !reviews.includes(request));
    expect(others.some(({ body }) => body.includes('It greets in capitals.'))).toBe(true);
    expect(state.usage.requests).toBe(server.requests.length);

    const [version] = AGENT_PROGRAMS.claude.tested;
    const reviewers = halo.journal(state.runId).filter(({ type }) => type === 'review.ended');
    expect(reviewers).toMatchObject([{ agent: 'claude', version }, { version }]);
    expect(JSON.parse(halo.readFile(state.runId, 'run.json'))).toMatchObject({
      progress: { stories: [{ reviewer: { name: 'claude', version } }] },
    });
    const read = (path: string) => halo.readFile(state.runId, `artifacts/hello/${path}`);
    expect(read('1/review/prompt.md')).toContain('1. It greets in lower case.');
    expect(JSON.parse(read('2/proof.json'))).toMatchObject({
      agent: { name: 'codex' },
      review: { agent: 'claude', version, model: 'claude-sonnet-5-5', criteria: [{ n: 1, met: 'yes' }] },
      usage: { requests: 3 },
    });

    await server.close();
    for (const attempt of casesAtLevel([1], [2])) {
      const replayed = await halo.operations.replay({ runId: state.runId, story: 'hello', attempt });
      expect(replayed.checks.map(({ what, ok }) => [what, ok])).toEqual([
        ['ending', true],
        ['answer', true],
        ['change', true],
      ]);
    }
    const query = { target: commit, folder: repository.root, signal: new AbortController().signal };
    for await (const { checks } of verify(halo.host, query)) {
      expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
      expect(checks).toContainEqual({
        what: 'review',
        recorded: `claude ${version} (claude-sonnet-5-5): 1 note`,
        found: 'nothing blocks',
        ok: true,
      });
    }
  });
});
