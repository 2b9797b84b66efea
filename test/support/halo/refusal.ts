import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { expect } from 'vitest';
import type { Ended } from './halo-process.ts';

/** The process ended with one error and its hint on stderr, and nothing else. */
export function expectOneError(end: Ended, code: number, says: string[]): void {
  for (const text of says) expect(end.stderr).toContain(text);
  expect(end).toMatchObject({ code, stdout: '' });
  expect(end.stderr).toMatch(/^error\[[A-Z_]+\]: [^a-z\s][^]*[^\s]\nhint: {2}(?:[^a-z\s]|git |halo ).*\n$/);
  expect(end.stderr).not.toMatch(/^\s+at |node:internal|\bundefined\b|Please report/m);
}

/** Halo left nothing behind that works or lies in this home. A container of Redis may end a moment after the command. */
export async function expectNoLeftovers(home: string): Promise<void> {
  await expect.poll(() => leftovers(home)).toEqual([]);
}

/** Runs, processes and containers of this home. */
async function leftovers(home: string): Promise<string[]> {
  const filters = { label: ['dev.halo=sandbox'] };
  const containers = (await new Docker().listContainers({ all: true, filters })).filter(({ Mounts }) =>
    Mounts.some(({ Source }) => Source.startsWith(home)),
  );
  return [...entries(join(home, 'runs')), ...processesOf(home), ...containers.flatMap(({ Names }) => Names)];
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Command lines that name the folder, such as that of a Redis server. */
function processesOf(home: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const words = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : '';
      return words.includes(home) ? [words] : [];
    } catch {
      return [];
    }
  });
}
