import { stripCredentials } from '../../core/text/address-credentials.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Cli, Define } from '../cli.ts';
import { readCosts } from '../../features/reports/cli/read-costs.ts';
import { openPrdFiles } from '../prds/open-prd-files.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows all runs in a full-screen view: stories, logs, diffs, what waits for a decision, costs, workers, and the PRDs of the current repository. Starts PRDs, approves, rejects, answers, pauses, resumes, cancels, retries and lands after a confirmation. `halo` alone at a terminal does the same. Runs continue when it ends.',
    )
    .addHelpText('after', HELP)
    .action(() => top(cli));
};

const HELP = `
Examples:
  halo top
  HALO_URL=http://127.0.0.1:7070 halo top

? shows all keys. : enters a command, / filters, Enter opens, Esc goes back, q quits.

See also: halo status, halo logs, halo run`;

async function top(cli: Cli): Promise<void> {
  if (!cli.terminal.drawable || cli.ask === undefined)
    throw new HaloError('USAGE', '`halo top` needs a terminal.', {
      hint: 'Use `halo status` and `halo logs -f` without a terminal, or unset CI and TERM=dumb.',
    });
  const [{ TopScreen }, { listRunSettings }] = await Promise.all([
    import('../../tui/top/top-screen.ts'),
    import('../../config/output/run-settings.ts'),
  ]);
  const { apiUrl, home } = await cli.services.readHost();
  await cli.withOperations(async (operations) => {
    const { screen, paint } = cli;
    const onKey = (listener: (key: string) => void) => cli.onKey(listener);
    const shown = new TopScreen({
      operations,
      prds: openPrdFiles(cli),
      listSettings: listRunSettings,
      readCosts,
      screen,
      paint,
      where: apiUrl === undefined ? home : stripCredentials(apiUrl),
      onKey,
    });
    const off = cli.onStop((signal) => {
      // 128 plus the number of the signal, as shells report it; Ctrl-C quits like q.
      if (signal === 'SIGTERM') cli.exitCode = 143;
      if (signal === 'SIGHUP') cli.exitCode = 129;
      shown.close();
    });
    try {
      await shown.untilQuit();
    } finally {
      shown.close();
      off();
    }
  });
}
