import { expect, test } from 'vitest';
import { describeFailure, runFailureOf } from '../../../src/features/folder-queue/api/failure-note.ts';
import type { FolderRecord } from '../../../src/features/folder-queue/api/folder-records.ts';
import type { RunState } from '../../../src/core/run/state.ts';

const record: FolderRecord = {
  name: '1.json',
  state: 'running',
  specHash: '',
  request: { key: 'k' },
  content: '',
  runId: 'r1',
};
const ended = (about: object) =>
  ({ runId: 'r1', stopReason: 'NEEDS_HUMAN', detail: 'A: Which database?', ...about }) as unknown as RunState;

test('the note of a PRD names the command that answers the question of its run', () => {
  const asks = ended({ stories: [{ id: 'A', progress: 'needs_human' }] });
  expect(describeFailure(record, runFailureOf(asks))).toContain(
    'Run r1 ended with NEEDS_HUMAN: A: Which database?\nAnswer the question with `halo answer r1 "…"`; the next `halo queue` continues with the run.\n',
  );
});

test('the note of a PRD whose gates failed proposes a retry, and no answer', () => {
  const note = describeFailure(record, runFailureOf(ended({ stopReason: 'GATE_FAILED', stories: [] })));
  expect(note).toContain('`halo retry r1`');
  expect(note).not.toContain('halo answer');
});
