import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { summaryLines } from '../../../src/tui/summary.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openHalo, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** 32: everything that a terminal obeys, from every side; nothing of it may reach a person. */
const EVIL = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\',
  '\u001b[2J\u001b[31mred\u009b31m',
  '\u009d0;title\u009c\u0090q\u009c',
  '\u202egnp.exe\u2066\u200b',
  '\u001bc\u0007\b\rover',
].join('x');
/** Newlines and tabs are harmless; the colors of halo's own are switched off here. */
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

let halo: TestHalo;
let repository: TestRepository;
let failed: RunState;
let held: RunState;

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository({ 'a.txt': 'a\n' });
  const print = `printf %s ${quote(EVIL)}`;
  const answer = JSON.stringify({ status: 'ok', summary: `Done ${EVIL}` });
  const agent = `${print}; ${print} >&2; echo; ${print} > a.txt; mkdir -p .vscode; cp a.txt .vscode/x; printf '%s\\n' ${quote(answer)}`;
  const gate = `${print}; printf 'TAP version 13\\nok 1 - %s\\n' ${quote(EVIL.replaceAll('\r', ''))}`;
  const stories = [{ id: 'S', title: `Title ${EVIL}` }];
  held = await halo.run(repository.root, stories, scripted(agent, [gate]));
  failed = await halo.run(repository.root, stories, scripted(agent, [`${gate}; exit 3`, `true # ${EVIL}`]));
});
afterAll(async () => {
  await halo.close();
});

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

describe('attack 32, incident open-link: terminal sequences from an agent, a gate, a PRD and a configuration', () => {
  it('are recorded, as a control', () => {
    expect([held.stopReason, failed.stopReason]).toEqual(['NEEDS_HUMAN', 'GATE_FAILED']);
    expect(readFileSync(join(halo.home, 'runs', held.runId, 'events.jsonl'), 'utf8')).toContain('\u001b]52');
  });

  it.each([
    ['status', (state: RunState) => ['status', state.runId]],
    ['status --json', (state: RunState) => ['status', state.runId, '--json']],
    ['the list', () => ['ls']],
    ['logs', (state: RunState) => ['logs', state.runId]],
    ['watch', (state: RunState) => ['watch', state.runId]],
    ['logs --raw', (state: RunState) => ['logs', state.runId, '--raw']],
    ['logs --json', (state: RunState) => ['logs', state.runId, '--json']],
    ['diff', (state: RunState) => ['diff', state.runId, '--story', state.stories[0]!.id]],
    ['an error', (state: RunState) => ['diff', state.runId, '--story', EVIL]],
    ['a refusal', (state: RunState) => ['approve', state.runId, '--story', EVIL]],
  ])('reach no terminal by %s', async (_name, words) => {
    for (const state of [held, failed]) {
      const result = await runCli(words(state), { operations: halo.operations, terminal: { shown: true } });
      expect(result.stdout + result.stderr).not.toBe('');
      expect(OBEYED.exec(result.stdout + result.stderr)?.[0]).toBeUndefined();
    }
  });

  it('are counted at each decision: in the reason to wait, the status and the last report', async () => {
    const hidden = /\d+ hidden characters in 2 files: \.vscode\/x:1, a\.txt:1/;
    expect(held.stories[0]?.summary).toMatch(hidden);
    const { stdout } = await runCli(['status', held.runId], { operations: halo.operations });
    expect(stdout).toMatch(/^hidden {3}\S.*: adds \d+ hidden characters in 2 files/m);
    const report = summaryLines({ state: held, width: 120, paint: paintPlain, dir: '' }).join('\n');
    expect(report.replace(/\s+/g, ' ')).toMatch(hidden);
  });

  it('is in no file for users', () => {
    for (const { runId, stories } of [held, failed]) {
      const dir = join(halo.home, 'runs', runId);
      const bundle = join(dir, 'debug_bundle', 'summary.md');
      const files = [...['agent.log', 'progress.md', 'history.md'].map((name) => join(dir, name)), bundle];
      for (const file of files) expect(OBEYED.exec(readFileSync(file, 'utf8'))?.[0], file).toBeUndefined();
      expect(readdirSync(join(dir, 'artifacts'))).toEqual([stories[0]!.key]);
    }
  });

  it('are in no commit, ref or note of the repository', () => {
    const refs = repository.git('for-each-ref', '--format=%(refname) %(contents)');
    expect(OBEYED.exec(refs)?.[0]).toBeUndefined();
  });
});
