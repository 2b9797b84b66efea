import { HaloError } from '../../core/failure/errors.ts';
import { sleep } from '../../lib/async.ts';
import { Page } from '../../tui/terminal.ts';
import type { Cli } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';

const EVERY_MS = 2000;

/** Shows a page and redraws it in place until Ctrl-C or its last version. Throws USAGE without a terminal. */
export async function watchPage(cli: Cli, read: () => Promise<{ lines: string[]; last: boolean }>): Promise<void> {
  if (!cli.terminal.drawable)
    throw new HaloError('USAGE', '--watch needs a terminal.', {
      hint: 'Use `halo logs -f` to follow runs without a terminal.',
    });
  const page = new Page(cli);
  try {
    await stoppable(cli, async (signal) => {
      while (!signal.aborted) {
        const { lines, last } = await read();
        page.draw(lines);
        if (last) return;
        await sleep(EVERY_MS, signal);
      }
    });
  } finally {
    page.close();
  }
}
