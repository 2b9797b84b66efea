import { execFileSync } from 'node:child_process';
import { OK, openHalo, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, showRound, type Measure } from './report.ts';

const MIB = 2 ** 20;
const BYTES = 512 * MIB;
/** What an agent prints: lines of 200 characters. */
const PRINT = `yes ${'0123456789abcdefghijklmnopqrstuvwxyz '.repeat(6).slice(0, 199).trim().replaceAll(' ', '-')} | head -c ${BYTES}; echo`;
const LIMIT = 1.0;
/** How much the worker may grow, in MiB. */
const GROWTH_LIMIT = 64;

interface Round extends Measure {
  /** The growth of the worker's process while the agent printed, in MiB. */
  growthMiB: number;
}

/**
 * 512 MiB of output: an agent that halo masks, reads line by line and keeps, against the same container with its output
 * sent to /dev/null by the docker CLI, in turn.
 */
export async function measureOutput({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const halo = await openHalo({ concurrency: 1 });
  const measured: Round[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      showRound(round, rounds);
      // A round must not wait for the disk to write the output of the one before.
      execFileSync('sync');
      const floor = timeDocker();
      const { ms, growthMiB } = await timeAgent(halo, repository.root);
      measured.push({ halo: ms, floor, ratio: ms / floor, growthMiB });
    }
  } finally {
    await halo.close();
    repository.remove();
  }
  print(measured, json);
}

/** In ms. */
function timeDocker(): number {
  const flags = ['--rm', '--network', 'none', '--log-driver', 'none', '--entrypoint', 'sh'];
  const started = performance.now();
  execFileSync('docker', ['run', ...flags, 'halo-sandbox', '-c', PRINT], { stdio: ['ignore', 'ignore', 'inherit'] });
  return performance.now() - started;
}

/** The duration of the agent's phase. */
async function timeAgent(halo: TestHalo, root: string): Promise<{ ms: number; growthMiB: number }> {
  const before = process.memoryUsage().rss;
  let highest = before;
  const sampling = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 50);
  const state = await halo.run(root, [{ id: 'S-1' }], scripted(`${PRINT}; date +%N > file; ${OK}`, ['true'], ['limits.output="2g"'])); // prettier-ignore
  clearInterval(sampling);
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  const ended = halo.journal(state.runId).find((event) => event.type === 'phase.ended' && event.phase === 'agent');
  const ms = ended?.type === 'phase.ended' ? ended.ms : Number.NaN;
  return { ms, growthMiB: Math.round((highest - before) / MIB) };
}

function print(measured: Round[], json: boolean): void {
  const ratio = median(measured.map((round) => round.ratio));
  const growthMiB = median(measured.map((round) => round.growthMiB));
  const result = { name: 'output', ratio, limit: LIMIT, growthMiB, growthLimitMiB: GROWTH_LIMIT, rounds: measured };
  if (json) return void process.stdout.write(`${JSON.stringify(result)}\n`);
  const line = (...cells: string[]) => `${cells.map((cell) => cell.padStart(12)).join('')}\n`;
  process.stdout.write(line('round', 'halo', 'docker', 'ratio', 'growth'));
  for (const [index, { halo, floor, ratio, growthMiB }] of measured.entries())
    process.stdout.write(
      line(String(index + 1), `${halo.toFixed(0)} ms`, `${floor.toFixed(0)} ms`, ratio.toFixed(2), `${growthMiB} MiB`),
    );
  process.stdout.write(
    `output: ratio ${ratio.toFixed(2)}, at most ${LIMIT.toFixed(1)} wanted; memory grew by ${growthMiB} MiB, at most ${GROWTH_LIMIT} wanted\n`,
  );
}
