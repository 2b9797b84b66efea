import { isSpelled, paintDiffLine, remarksText } from '../../tui/diff/paint-diff.ts';
import { readDiff } from '../../tui/diff/read-diff.ts';
import type { Cli } from '../cli.ts';

/**
 * Shows a complete patch to a person: hidden characters and bytes that are not UTF-8 are printed as code points. Then
 * prints findings that a reviewer may overlook to stderr. Without colors, a patch without such characters is printed
 * unchanged.
 */
export async function showDiff(patch: Uint8Array, cli: Cli): Promise<void> {
  const { lines, remarks } = readDiff(patch);
  await cli.write(lines.map((line) => `${paintDiffLine(line, cli.paint)}${line.returns ? '\r\n' : '\n'}`).join(''));
  for (const remark of remarksText(remarks)) await cli.note(`${cli.paintErr('warn', 'warning:')} ${remark}`);
  if (lines.some(isSpelled) && !cli.terminal.shown)
    await cli.note('Hidden characters are printed as code points; --raw prints the exact patch.');
}
