import type { Reporter, TestModule } from 'vitest/node';
import { printHeldTable, tallyRows } from './held-table.ts';
import { ATTACKS, idsIn } from '../../security/attacks.ts';

/** So many files of this folder are all of it, but for some. */
const WHOLE = 12;

/** Prints, after the tests of this folder, each attack with its defence and whether it held. */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tallies = tallyRows(modules, idsIn);
    if (tallies.size === 0) return;
    const tried = (id: string) => (tallies.get(id)?.passed ?? 0) + (tallies.get(id)?.failed ?? 0) > 0;
    // Of a few files only their rows; of the whole folder also untested ones.
    const whole = modules.filter(({ moduleId }) => moduleId.includes('/security/')).length >= WHOLE;
    const shown = ATTACKS.filter(({ id }) => whole || tried(id));
    if (shown.some(({ id }) => !tried(id))) process.exitCode = 1;
    const rows = shown.map(({ id, attack, defence }) => ({ id, cells: [attack, defence] }));
    printHeldTable(['ATTACK', 'DEFENCE'], rows, tallies);
  }
}
