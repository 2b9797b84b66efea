import type { Replayed } from '../api/schemas.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli } from '../../../cli/cli.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

/** Formats checks as rows; differences are highlighted. */
export function formatChecks(checks: Replayed['checks'], cli: Cli): string[] {
  const heading = ['', 'WHAT', 'RECORDED', 'FOUND'].map((text) => ({ text }));
  const rows = checks.map(({ what, recorded, found, ok }): Cell[] => [
    ok === null ? { text: ' ' } : { text: ok ? '✓' : '✗', tone: ok ? 'good' : 'bad' },
    { text: safeLine(what, 60) },
    { text: shorten(recorded) },
    { text: shorten(found), tone: ok === false ? 'bad' : 'plain' },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}

function shorten(text: string): string {
  return /^[0-9a-f]{40,64}$/.test(text) ? text.slice(0, 12) : safeLine(text, 60);
}
