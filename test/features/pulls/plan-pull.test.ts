import { describe, expect, it } from 'vitest';
import { planPull } from '../../../src/features/pulls/core/plan-pull.ts';
import type { Proof } from '../../../src/core/review/proof.ts';
import { attempted, created, failed, passed, stateOf } from '../../support/journal.ts';

const none = { proofs: new Map(), criteria: new Map(), claims: new Map() };

describe('the pull request of a run', () => {
  it('is a draft with the state of each story until the run has ended', () => {
    const plan = planPull(stateOf(created('r'), ...passed('US-001'), ...attempted('US-002')), none);
    expect(plan.isDraft).toBe(true);
    expect(plan.title).toContain('1 of ');
    expect(plan.statuses.slice(0, 2)).toMatchObject([
      { context: 'halo/US-001', state: 'success' },
      { context: 'halo/US-002', state: 'pending' },
    ]);
    expect(plan.body).toContain('halo verify <commit>');
  });

  it('says which stories are not done when the run has ended', () => {
    const end = { type: 'run.ended', stopReason: 'PARTIAL', detail: '' } as const;
    const plan = planPull(stateOf(created('r'), ...passed('US-001'), ...failed('US-002'), end), none);
    expect(plan.isDraft).toBe(false);
    expect(plan.body).toContain('The run ended with `PARTIAL`: some stories are not done.');
    expect(plan.statuses[1]).toMatchObject({ state: 'failure' });
  });

  it('ticks the criteria for which a test ran', () => {
    const criteria = new Map([['US-001', ['It adds.', 'It subtracts.']]]);
    const claim = { n: 1, tests: [{ name: 'adds', found: 'ran' as const }], files: [] };
    const plan = planPull(stateOf(created('r'), ...passed('US-001')), {
      ...none,
      criteria,
      claims: new Map([['US-001', [claim]]]),
    });
    expect(plan.body).toContain('- [x] `It adds.`: tested by `adds`\n- [ ] `It subtracts.`');
  });

  it('has the word of a reviewer where no test is named, and its findings as code', () => {
    const review = {
      ...({ type: 'review.ended', story: 'US-001', attempt: 1, agent: 'claude', model: 'large', commit: 'c' } as const),
      findings: [{ path: 'a.js', line: 2, severity: 'note' as const, text: 'See #12, @boss `x` <img src=x>.' }],
      criteria: [{ n: 1, met: 'unclear' as const }],
    };
    const criteria = new Map([['US-001', ['It adds.']]]);
    const { body } = planPull(stateOf(created('r'), ...passed('US-001'), review), { ...none, criteria });
    expect(body).toContain('- [ ] `It adds.`: unclear to the reviewer\n');
    expect(body).toContain(
      "- reviewed by `claude (large)`: 1 note\n  - note: `a.js:2: See #12, @boss 'x' <img src=x>.`",
    );
  });

  it.each([
    [{ name: 'codex', model: 'large' }, '- agent: `codex`, `large`, 3 requests, $1.50'],
    [{ name: 'codex' }, '- agent: `codex`, 3 requests, $1.50'],
  ])('has the gates and the agent of the proof of a story: %j', (agent, line) => {
    const gates = [{ command: 'npm test', exitCode: 0, ms: 1_200, sha256: '' }];
    const usage = { requests: 3, inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd: 1.5 };
    const proofs = new Map([['US-001', { gates, agent, usage } as unknown as Proof]]);
    const { body } = planPull(stateOf(created('r'), ...passed('US-001')), { ...none, proofs });
    expect(body).toContain(`- gate: \`npm test\` exited 0 (1.2 s)\n${line}\n`);
  });

  it('says who chose agent and model, and nothing of the server', () => {
    const state = stateOf(created('r'), ...passed('US-001'));
    const start = {
      choice: { agent: 'claude', model: 'large', by: 'route', route: 2 },
      engine: { name: 'b-2', id: '' },
    };
    const stories = state.stories.map((story) => ({
      ...story,
      ...(start as object),
      fallback: { model: 'm', why: 'w' },
    }));
    const { body } = planPull({ ...state, stories }, none);
    expect(body).toContain('- model: `claude, large (route 2)`\n');
    expect(body).not.toMatch(/b-2|the model m/);
  });

  it('has a limited length', () => {
    const state = stateOf(created('r'), ...passed('US-001'));
    const stories = Array.from({ length: 500 }, (_, n) => ({
      ...state.stories[0]!,
      id: `S-${n}`,
      summary: 'x'.repeat(5_000),
    }));
    const { body, statuses } = planPull({ ...state, stories }, none);
    expect(body.length).toBeLessThan(65_000);
    expect(statuses).toHaveLength(100);
  });
});
