import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { openHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { SEALED } from './bare-sequence.ts';
import { median, showRound } from './report.ts';
import { timeHalo } from './throughput.ts';

/** Sandboxes that start at the same time, and that wait at the same time. */
const MANY = 10;
/** Stories at the same time, each in a repository of its own. */
const CONCURRENCY = 4;
const REPOSITORIES = 20;
const FIRST_USER = 31_000;
const LIMITS = { wallMs: 60_000, idleMs: 60_000, outputBytes: 1_000_000 };

/** A figure with its unit, and what it is compared with on the same machine; times and sizes are of this machine. */
interface Figure {
  name: string;
  unit: 'ms' | 'MiB' | 'stories an hour';
  halo: number;
  /** The same by the docker CLI. */
  docker?: number;
}

/**
 * The figures that providers of sandboxes publish, in their form: the time from creating a sandbox to the end of `node -v`
 * in it, one after the other (median and 95th percentile) and ten at the same time (the slowest); the memory that a waiting
 * sandbox takes from the machine; stories an hour; the memory of the worker.
 */
export async function measureFigures({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const engine = openDockerEngine();
  const alone: { halo: number[]; docker: number[] } = { halo: [], docker: [] };
  const burst: number[] = [];
  const memory: number[] = [];
  for (let round = -1; round < rounds * MANY; round += 1) {
    if (round % MANY === 0 || round < 0) showRound(Math.min(round, Math.floor(round / MANY)), rounds, 'a sandbox');
    const halo = await timeStart(engine, 0);
    const docker = timeDocker();
    // The first round warms caches.
    if (round < 0) continue;
    alone.halo.push(halo);
    alone.docker.push(docker);
  }
  for (let round = 0; round < rounds; round += 1) {
    showRound(round, rounds, `${MANY} sandboxes`);
    burst.push(Math.max(...(await Promise.all(numbers(MANY).map((at) => timeStart(engine, at))))));
    memory.push(await measureMemory(engine));
  }
  const { perHour, workerMiB } = await measureStories(rounds);
  print(
    [
      { name: 'start to `node -v`, median', unit: 'ms', halo: median(alone.halo), docker: median(alone.docker) },
      { name: 'start to `node -v`, p95', unit: 'ms', halo: p95(alone.halo), docker: p95(alone.docker) },
      { name: `start to \`node -v\`, slowest of ${MANY} together`, unit: 'ms', halo: median(burst) },
      { name: 'memory of a waiting sandbox', unit: 'MiB', halo: median(memory) },
      { name: `stories, ${CONCURRENCY} at a time`, unit: 'stories an hour', halo: perHour },
      { name: 'memory of a worker afterwards', unit: 'MiB', halo: workerMiB },
    ],
    json,
  );
}

/** From creating a sandbox to the end of its command, in ms. */
async function timeStart(engine: SandboxEngine, at: number): Promise<number> {
  const started = performance.now();
  const sandbox = await engine.start(smallSandbox('figures', FIRST_USER + at));
  try {
    const { exitCode } = await sandbox.run({ script: 'node -v', ...LIMITS, ...discarded() });
    if (exitCode !== 0) throw new Error(`node -v ended with ${exitCode}`);
    return performance.now() - started;
  } finally {
    await sandbox.remove();
  }
}

function discarded() {
  return { stdout: new PassThrough().resume(), stderr: new PassThrough().resume() };
}

function timeDocker(): number {
  const started = performance.now();
  execFileSync('docker', ['run', '--rm', ...SEALED, 'halo-sandbox', 'node', '-v'], { stdio: 'ignore' });
  return performance.now() - started;
}

/** What each of several waiting sandboxes takes of the available memory of the machine, in MiB. */
async function measureMemory(engine: SandboxEngine): Promise<number> {
  const before = availableMiB();
  const sandboxes = await Promise.all(
    numbers(MANY).map((at) => engine.start(smallSandbox('figures', FIRST_USER + at))),
  );
  const taken = (before - availableMiB()) / MANY;
  await Promise.all(sandboxes.map((sandbox) => sandbox.remove()));
  return taken;
}

function availableMiB(): number {
  return Number(/^MemAvailable: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
}

async function measureStories(rounds: number): Promise<{ perHour: number; workerMiB: number }> {
  const repositories = numbers(REPOSITORIES).map(() => makeRepository());
  const halo = await openHalo({ concurrency: CONCURRENCY });
  const times: number[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds, 'stories');
      const ms = await timeHalo(
        halo,
        repositories.map(({ root }) => root),
      );
      if (round >= 0) times.push(ms);
    }
  } finally {
    await halo.close();
    for (const repository of repositories) repository.remove();
  }
  return { perHour: (REPOSITORIES / median(times)) * 3_600_000, workerMiB: process.memoryUsage().rss / 2 ** 20 };
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}

function p95(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
}

function print(figures: Figure[], json: boolean): void {
  if (json) return void process.stdout.write(`${JSON.stringify({ name: 'figures', figures })}\n`);
  const line = (name: string, ...cells: string[]) =>
    `${name.padEnd(46)}${cells.map((cell) => cell.padStart(22)).join('')}\n`;
  process.stdout.write(line('', 'halo', 'docker run'));
  for (const { name, unit, halo, docker } of figures)
    process.stdout.write(
      line(name, `${halo.toFixed(0)} ${unit}`, docker === undefined ? '' : `${docker.toFixed(0)} ${unit}`),
    );
}
