import { randomBytes } from 'node:crypto';
import { NO_USAGE } from '../../src/core/agent.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { Prd, Story } from '../../src/core/prd/prd.ts';
import { newRunId } from '../../src/lib/run-id.ts';

export const BASE = '1'.repeat(40);
export const COMMIT = '2'.repeat(40);

function aStory(id: string): Story {
  const rest = { description: '', acceptance: ['it works'], priority: undefined, status: 'pending' as const };
  return { id, title: `Title of ${id}`, notes: '', dependsOn: [], extra: {}, ...rest };
}

function aPrd(ids: string[]): Prd {
  const stories = ids.map(aStory);
  return {
    dialect: 'hanuman',
    project: 'shop',
    description: '',
    stories,
    warnings: [],
    hash: 'a'.repeat(64),
    specHash: 'b'.repeat(64),
  };
}

/** The first entry of a run with these stories. */
export function created(ids: string[] = ['S-1', 'S-2'], at = new Date()): JournalEntry & { type: 'run.created' } {
  const repo = { source: '/src/shop', mirror: 'shop-1', branch: 'main', base: BASE };
  const runId = newRunId(at, randomBytes);
  return { type: 'run.created', runId, repo, prdPath: '/src/shop/prd.json', prd: aPrd(ids), attempts: 2 };
}

/** The entries of one attempt that landed, or of one that failed its gate. */
export function attempt(story: string, passed = true): JournalEntry[] {
  const ref = { story, attempt: 1 };
  const gate = { command: 'npm test', exitCode: passed ? 0 : 1, ms: 1200, log: 'gates/1.log' };
  const end = passed
    ? ({ verdict: 'passed', stopReason: 'SUCCESS', summary: 'Added it.', commit: COMMIT } as const)
    : ({ verdict: 'failed', stopReason: 'GATE_FAILED', summary: 'npm test: exit 1' } as const);
  return [
    { type: 'story.started', epoch: 1, base: BASE, ...ref },
    { type: 'phase.started', phase: 'gates', ...ref },
    { type: 'gate.ended', ...gate, ...ref },
    { type: 'story.ended', usage: NO_USAGE, ...end, ...ref },
  ];
}
