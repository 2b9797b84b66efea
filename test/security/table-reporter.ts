import type { Reporter, TestModule } from 'vitest/node';
import { ATTACKS, idsIn } from './attacks.ts';

/** So many files of this folder are all of it, but for some. */
const WHOLE = 12;

/** Prints, after the tests of this folder, each attack with its defence and whether it held. */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tried = tally(modules);
    if (tried.size === 0) return;
    // Of a few files only their rows; of the whole folder also those that nobody tried.
    const whole = modules.filter(({ moduleId }) => moduleId.includes('/security/')).length >= WHOLE;
    const shown = ATTACKS.filter(({ id }) => whole || tried.has(id));
    const rows = shown.map(({ id, attack, defence }) => [id, attack, defence, verdict(tried.get(id))]);
    const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    if (whole && shown.some(({ id }) => !tried.has(id))) process.exitCode = 1;
    process.stdout.write(['', line(['', 'ATTACK', 'DEFENCE', 'HELD']), ...rows.map(line), ''].join('\n') + '\n');
  }
}

interface Tally {
  passed: number;
  failed: number;
}

function tally(modules: readonly TestModule[]): Map<string, Tally> {
  const tried = new Map<string, Tally>();
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'skipped' || state === 'pending') continue;
      for (const id of idsIn(test.fullName)) {
        const { passed, failed } = tried.get(id) ?? { passed: 0, failed: 0 };
        const held = state === 'passed';
        tried.set(id, { passed: passed + Number(held), failed: failed + Number(!held) });
      }
    }
  }
  return tried;
}

function verdict(tally: Tally | undefined): string {
  if (tally === undefined) return 'not tried';
  const { passed, failed } = tally;
  return failed > 0 ? `NO (${failed} of ${passed + failed})` : `yes (${passed})`;
}
