import type { Reporter, TestModule } from 'vitest/node';
import { printHeldTable, tallyRows } from './held-table.ts';
import { HAZARDS, idsIn } from '../../chaos/hazards.ts';
import { FULL, LEVEL } from '../suite/level.ts';

/** Prints, after `npm run test:chaos`, each hazard with its outcome and whether it held. */
export default class HazardReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tallies = tallyRows(modules, idsIn);
    if (LEVEL < FULL || tallies.size === 0) return;
    const rows = HAZARDS.filter(({ id }) => tallies.has(id));
    printHeldTable(
      ['HAZARD', 'OUTCOME'],
      rows.map(({ id, hazard, outcome }) => ({ id, cells: [hazard, outcome] })),
      tallies,
    );
  }
}
