import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { ScriptedHome } from '../halo/scripted-home.ts';
import { BASE, COMMIT, created, gateFailure } from '../journal.ts';

/** The stories of the sample run, with what they depend on. */
const STORIES: Record<string, string[]> = {
  'US-001': [],
  'US-002': ['US-001'],
  'US-003': ['US-001'],
  'US-004': ['US-002', 'US-003'],
  'US-005': [],
};
const TITLES = ['Add the cart', 'Show the total', 'Apply coupons', 'Check out', 'Write the help page'];
const TAIL = [
  '\u001b[1m\u001b[31mFAIL\u001b[39m\u001b[22m test/coupon.test.ts > a coupon reduces the total',
  'AssertionError: expected 100 to be 90',
  '    at test/coupon.test.ts:12:24',
  '',
  ' \u001b[2mTests\u001b[22m  \u001b[31m1 failed\u001b[39m | \u001b[32m41 passed\u001b[39m (42)',
].join('\n');

export interface SampleRun {
  /** Writes a file of an attempt. */
  write: (story: string, attempt: number, name: string, content: string) => void;
}

/** A run with dependencies, of which US-003 failed twice: with gates, network, usage, prompts and diffs. */
export async function addSampleRun(home: ScriptedHome, runId: string): Promise<SampleRun> {
  const first = created(runId, Object.keys(STORIES));
  const stories = first.prd.stories.map((story, index) => ({
    ...story,
    title: TITLES[index] ?? story.title,
    description: 'As a buyer I want it.',
    acceptance: ['The total is right.'],
    dependsOn: STORIES[story.id] ?? [],
  }));
  await home.addRun([
    { ...first, user: 'mina', agent: 'codex', prd: { ...first.prd, stories } },
    { type: 'run.started' },
    ...attempt('US-001', 1, 0),
    ...attempt('US-002', 1, 0),
    ...attempt('US-003', 1, 1),
    ...attempt('US-003', 2, 1),
    ...attempt('US-005', 1, 0),
    { type: 'run.ended', stopReason: 'PARTIAL', detail: '3 of 5 stories passed; US-003 failed.' },
  ]);
  const { state } = await home.operations.getRun({ runId });
  const write: SampleRun['write'] = (story, number, name, content) => {
    const key = state.stories.find(({ id }) => id === story)?.key;
    home.writeArtifact(runId, `${key}/${number}/${name}`, content);
  };
  for (const number of [1, 2]) {
    write('US-003', number, 'prompt.md', `# US-003\n\nApply coupons, attempt ${number}.\n`);
    write('US-003', number, 'gates/1.log', '\u001b[32m✓\u001b[39m no problems\n');
    write('US-003', number, 'gates/2.log', `> npm test\n${TAIL}\n`);
    write('US-003', number, 'diff.patch', patchOf('src/coupon.ts', number));
  }
  write('US-003', 2, 'cassette.jsonl', '{"halo_cassette":1}\n{"seq":1,"request":{"path":"/v1/responses"}}\n');
  return { write };
}

function attempt(story: string, number: number, exitCode: number): JournalEntry[] {
  const ref = { story, attempt: number };
  const usage = { requests: 2, inputTokens: 12_000 * number, cachedTokens: 8_000, outputTokens: 900, costUsd: 0.05 };
  const phase = (name: 'prepare' | 'setup' | 'agent' | 'export' | 'gates' | 'land', ...inside: JournalEntry[]) => [
    { type: 'phase.started', ...ref, phase: name } as const,
    ...inside,
    { type: 'phase.ended', ...ref, phase: name, ms: 1_000 } as const,
  ];
  const gate = (command: string, log: string, code: number): JournalEntry[] => [
    { type: 'gate.started', ...ref, command },
    {
      ...{ type: 'gate.ended', ...ref, command, exitCode: code, ms: 1_200, log },
      ...(code !== 0 && { tail: TAIL }),
    },
  ];
  const gates = [...gate('npm run lint', 'gates/1.log', 0), ...gate('npm test', 'gates/2.log', exitCode)];
  return [
    { type: 'story.started', ...ref, epoch: number, base: BASE },
    ...phase('prepare'),
    ...phase('setup', {
      ...{ type: 'network.asked', ...ref, phase: 'setup', route: 'registry', method: 'GET', target: 'npm:vitest' },
      ...{ outcome: 'served', status: 200, bytes: 120_000, count: 3 },
    }),
    ...phase(
      'agent',
      {
        ...{ type: 'prompt.built', ...ref, tokens: 2_400, maxTokens: 30_000 },
        sections: [
          { name: 'story', tokens: 400 },
          { name: 'repository', file: 'AGENTS.md', tokens: 2_000, cut: 150 },
        ],
      },
      { type: 'agent.launched', ...ref, agent: 'codex', model: 'gpt-5' },
      { type: 'agent.activity', ...ref, activity: { kind: 'say', text: `Looking at ${story} first.` } },
      { type: 'agent.activity', ...ref, activity: { kind: 'run', command: 'npm test' } },
      { type: 'model.used', ...ref, model: 'gpt-5', told: 'all', usage, tokens: 12_900 },
      {
        ...{ type: 'network.asked', ...ref, phase: 'agent', route: 'tunnel', method: 'CONNECT' },
        ...{ target: 'evil.example.com:443', outcome: 'refused', status: 403, bytes: 0, count: 2 },
        reason: 'evil.example.com is not allowed; add it to [network] allow',
        unlisted: true,
      },
    ),
    ...phase('export'),
    ...(exitCode === 0
      ? [...phase('gates', ...gates), ...phase('land')]
      : [{ type: 'phase.started', ...ref, phase: 'gates' } as const, ...gates]),
    exitCode === 0
      ? {
          ...{ type: 'story.ended', ...ref, verdict: 'passed', stopReason: 'SUCCESS', usage },
          ...{ summary: `Adds ${story}.`, commit: COMMIT },
        }
      : {
          ...{ type: 'story.ended', ...ref, verdict: 'failed', stopReason: 'GATE_FAILED', usage },
          ...{ summary: '`npm test` exited with 1', failure: gateFailure('hint') },
        },
  ];
}

function patchOf(path: string, number: number): string {
  const added = Array.from({ length: number }, (_, at) => `+export const rate${at} = 0.1;\n`).join('');
  return `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${number} @@\n${added}`;
}
