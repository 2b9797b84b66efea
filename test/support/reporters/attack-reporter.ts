import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { printHeldTable, tallyRows } from './held-table.ts';
import { ATTACKS, idsIn } from '../../security/attacks.ts';

/** With at least this many files, the whole folder was run. */
const WHOLE = 12;

/** Prints each attack with its defence and its result after the tests of this folder. */
export default class TableReporter implements Reporter {
  private isPart = false;

  /** Another shard or layer tries the other rows. */
  onInit({ config }: Vitest): void {
    this.isPart = config.shard !== undefined || config.project.length > 0;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tallies = tallyRows(modules, idsIn);
    if (tallies.size === 0) return;
    const tried = (id: string) => (tallies.get(id)?.passed ?? 0) + (tallies.get(id)?.failed ?? 0) > 0;
    // For a few files, only their own rows are printed; for the whole folder, also untested ones.
    const whole = !this.isPart && modules.filter(({ moduleId }) => moduleId.includes('/security/')).length >= WHOLE;
    const shown = ATTACKS.filter(({ id }) => whole || tried(id));
    if (shown.some(({ id }) => !tried(id))) process.exitCode = 1;
    const rows = shown.map(({ id, attack, defence }) => ({ id, cells: [attack, defence] }));
    printHeldTable(['ATTACK', 'DEFENCE'], rows, tallies);
  }
}
