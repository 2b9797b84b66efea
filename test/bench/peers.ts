import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONTESTANTS, type Contestant, type Opened, type StoryTimes } from './contestants.ts';
import { median, showRound } from './report.ts';

interface Result extends Pick<Contestant, 'name' | 'differs'> {
  rounds: StoryTimes[];
  /** Why it could not run here. */
  failed?: string;
}

/**
 * One story of halo and of similar tools from npm, from the command to the commit and to the end of the command, in turn,
 * so that a machine whose speed drifts drifts for all. A tool that cannot run here is reported and left out.
 */
export async function measurePeers({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'halo-peers-'));
  const results: Result[] = CONTESTANTS.map(({ name, differs }) => ({ name, differs, rounds: [] }));
  const opened: (Opened | undefined)[] = [];
  try {
    for (const [at, contestant] of CONTESTANTS.entries()) {
      const own = join(dir, String(at));
      mkdirSync(own);
      opened[at] = await orFailed(results[at]!, () => contestant.open(own));
    }
    for (let round = -1; round < rounds; round += 1)
      for (const [at, result] of results.entries()) {
        if (result.failed !== undefined) continue;
        showRound(round, rounds, result.name);
        const times = await orFailed(result, () => opened[at]!.time());
        // The first round warms caches.
        if (times !== undefined && round >= 0) result.rounds.push(times);
      }
  } finally {
    for (const one of opened) await one?.close();
    rmSync(dir, { recursive: true, force: true });
  }
  print(results, json);
}

async function orFailed<Value>(result: Result, work: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    result.failed = error instanceof Error ? error.message : String(error);
    return undefined;
  }
}

function print(results: Result[], json: boolean): void {
  const halo = results[0]!.rounds;
  const rows = results.map((result) => ({
    ...result,
    commit: figures('commit', result.rounds, halo),
    end: figures('end', result.rounds, halo),
  }));
  if (json) return void process.stdout.write(`${JSON.stringify({ name: 'peers', peers: rows })}\n`);
  const write = (name: string, ...cells: string[]) =>
    process.stdout.write(`${name.padEnd(28)}${cells.map((cell) => cell.padStart(15)).join('')}\n`);
  const cells = ({ ms, ratio }: Figures) => [`${ms.toFixed(0)} ms`, ratio.toFixed(2)];
  write('', 'to the commit', 'halo / this', 'to the end', 'halo / this');
  for (const { name, commit, end, failed } of rows)
    if (failed === undefined) write(name, ...cells(commit), ...cells(end));
  for (const { name, differs, failed } of rows)
    write(failed === undefined ? `${name}: ${differs}` : `${name} cannot run here: ${failed}`);
}

/** Medians over the rounds; `ratio` is halo's time divided by that of the same round. */
interface Figures {
  ms: number;
  ratio: number;
}

function figures(of: keyof StoryTimes, rounds: StoryTimes[], halo: StoryTimes[]): Figures {
  return {
    ms: median(rounds.map((times) => times[of])),
    ratio: median(rounds.map((times, at) => (halo[at]?.[of] ?? Number.NaN) / times[of])),
  };
}
