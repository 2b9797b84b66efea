import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { transcriptPrinter } from '../../../src/cli/logs/transcript-lines.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { describeEvent } from '../../../src/core/transcript/transcript.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { created } from '../../support/journal.ts';

const SAID: JournalEvent = {
  v: 1,
  seq: 1,
  at: '2030-01-01T00:00:00.000Z',
  type: 'agent.activity',
  story: 'US-001',
  attempt: 1,
  activity: { kind: 'say', text: 'I read the guide, the code and the tests first.' },
};

async function printed(
  { shown, columns }: { shown: boolean; columns: number },
  events: JournalEvent[] = [SAID],
): Promise<string[]> {
  const lines: string[] = [];
  const print = (...more: string[]) => Promise.resolve(void lines.push(...more));
  const screen = Object.assign(new PassThrough(), { columns });
  const terminal = { shown, drawable: false, color: { stdout: false, stderr: false }, debug: false };
  const show = transcriptPrinter({ screen, terminal, print, paint: paintPlain });
  for (const event of events) await show(event);
  return lines;
}

describe('the transcript', () => {
  it('wraps a long line below its own text', async () => {
    expect(await printed({ shown: true, columns: 63 })).toEqual([
      '    0.0s  US-001    agent    I read the guide, the code and the',
      '                             tests first.',
    ]);
  });

  it('has one width for the ids of all stories of the run', async () => {
    const run = { v: 1 as const, seq: 1, at: SAID.at, ...created(undefined, ['US-001', 'add-total-to-src']) };
    const lines = await printed({ shown: true, columns: 120 }, [run, SAID]);
    expect(lines.at(-1)).toBe('    0.0s  US-001            agent    I read the guide, the code and the tests first.');
    expect(lines[0]).toMatch(/^ {4}0\.0s {20}run {6}/);
  });

  it('has one line for each of the agent’s, in a file and on a very narrow terminal', async () => {
    expect(await printed({ shown: false, columns: 63 })).toHaveLength(1);
    expect(await printed({ shown: true, columns: 40 })).toHaveLength(1);
  });

  it('names no project if the PRD has none', () => {
    const event = { v: 1 as const, seq: 1, at: '2030-01-01T00:00:00.000Z', ...created(undefined, ['US-001']) };
    const text = (project: string) => JSON.stringify(describeEvent({ ...event, prd: { ...event.prd, project } }));
    expect(text('shop')).toContain('1 story of shop, /home/me/shop');
    expect(text('')).toContain('1 story, /home/me/shop');
  });
});
