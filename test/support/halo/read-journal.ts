import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEvent } from '../../../src/core/journal/events.ts';

/** The events of a run, without a last line that is still being written. */
export function readJournal(home: string, runId: string): JournalEvent[] {
  const lines = readFileSync(join(home, 'runs', runId, 'journal.jsonl'), 'utf8')
    .split('\n')
    .slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEvent);
}
