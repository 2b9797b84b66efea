import { resolve } from 'node:path';
import type { QueuedPrd } from '../../api/prd-folder/list-folder.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import type { Cli } from '../cli.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

/** Prints the PRDs of a folder in the order in which `halo queue` runs them. */
export async function listQueue(folder: string, json: boolean, cli: Cli): Promise<void> {
  const prds = await cli.services.listFolder(resolve(cli.cwd, folder));
  if (json) return cli.printJson(prds);
  if (prds.length === 0) return cli.note(`${safeLine(folder)} has no PRDs.`);
  const heading = ['NAME', 'STATE', 'DONE', 'RUN'].map((text) => ({ text }));
  await cli.print(...table([heading, ...prds.map(rowOf)], { paint: cli.paint, width: terminalColumns(cli) }));
}

function rowOf({ name, state, done, total, runId, reason }: QueuedPrd): Cell[] {
  return [
    { text: safeLine(name, 64), tone: 'strong' },
    { text: state, tone: TONES[state] },
    { text: state === 'refused' ? '-' : `${done}/${total}` },
    { text: [runId ?? '-', ...(reason === undefined ? [] : [safeLine(reason)])].join(' ') },
  ];
}

const TONES: Record<QueuedPrd['state'], Tone> = {
  waiting: 'plain',
  running: 'plain',
  failed: 'warn',
  refused: 'warn',
  done: 'good',
};
