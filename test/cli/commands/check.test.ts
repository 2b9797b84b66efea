import { describe, expect, it } from 'vitest';
import type { CheckedCommand, CheckQuery } from '../../../src/api/repository/check-repository.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';

const INSTALLED: CheckedCommand = { kind: 'setup', command: 'npm ci', ms: 12_000 };
const PASSED: CheckedCommand = { kind: 'gate', command: 'npm test', ms: 700 };
const FAILED: CheckedCommand = {
  kind: 'gate',
  command: 'npm run lint',
  ms: 500,
  fault: { stopReason: 'GATE_FAILED', says: '1 test failed: adds; gate `npm run lint` exited 1' },
  failed: { count: 1, tests: [{ name: 'adds', place: 'test/x.js:3', message: 'expected 3' }] },
};

async function halo(words: string[], commands: CheckedCommand[], printed = '') {
  const queries: CheckQuery[] = [];
  const check = async (query: CheckQuery) => {
    queries.push(query);
    const of = { repo: '/shop', branch: 'main', commit: 'a'.repeat(40), image: 'halo-sandbox' };
    await query.tell({ type: 'begun', ...of, warnings: ['Nothing is reachable.'] });
    await query.tell({ type: 'prepared', ms: 400 });
    for (const command of commands) {
      await query.tell({ type: 'started', kind: command.kind, command: command.command });
      await query.tell({ type: 'printed', bytes: Buffer.from(printed) });
      await query.tell({ type: 'ended', ...command });
    }
    return commands;
  };
  const result = await runCli(['check', ...words], { operations: openMemory(), cwd: '/shop', services: { check } });
  return { ...result, queries };
}

describe('halo check', () => {
  it('shows each command with its output, and ends with the passed gates', async () => {
    const { code, stdout, stderr } = await halo([], [INSTALLED, PASSED, PASSED], 'added \u001b]0;x\u0007 1\nand');
    expect(code).toBe(0);
    expect(stderr).toBe('warning: Nothing is reachable.\n');
    expect(stdout).toContain('base     aaaaaaa of /shop (main), image halo-sandbox\n');
    expect(stdout).toContain('setup    npm ci\nadded <U+001B>]0;x<U+0007> 1\nand\n         ok  12.0s\n');
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('setup 12.0s · 2 gates pass');
  });

  it('says how long the data of a service was prepared', async () => {
    const { stdout } = await halo([], [{ ...PASSED, prepared: [{ service: 'db', ms: 3_200 }] }, PASSED]);
    expect(stdout.match(/ok  .+/g)).toEqual(['ok  0.4s', 'ok  0.7s  (db prepared in 3.2s)', 'ok  0.7s']);
  });

  it('names the failed tests, and ends like a failed gate', async () => {
    const { code, stdout } = await halo([], [FAILED, PASSED]);
    expect(code).toBe(10);
    expect(stdout).toContain(
      'failed  1 test failed: adds; gate `npm run lint` exited 1\n        ✗ adds  test/x.js:3\n',
    );
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('1 of 2 gates failed');
  });

  it('reports why setup failed in the last line', async () => {
    const fault = { stopReason: 'TIMEOUT' as const, says: 'setup `npm ci` was stopped' };
    const { code, stdout } = await halo([], [{ ...INSTALLED, fault }]);
    expect(code).toBe(10);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('setup failed: setup `npm ci` was stopped; no gate ran');
  });

  it('accepts a folder and settings, and prints only JSON with --json', async () => {
    const { code, stdout, queries } = await halo(
      ['-C', '../api', '-c', 'a=1', '-c', 'b=2', '--json'],
      [FAILED],
      'noise',
    );
    expect(code).toBe(10);
    expect(queries).toMatchObject([{ folder: '/api', set: ['a=1', 'b=2'], profile: undefined }]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, image: 'halo-sandbox', prepareMs: 400, commands: [FAILED] });
  });
});
