import { resolve } from 'node:path';
import { safeLine } from '../../../core/text/safe-text.ts';
import { formatSize } from '../../../lib/units.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { stoppable } from '../../../cli/run/run-until-signal.ts';
import { assertHere, progressOf, sourceOf } from './backup.ts';

interface Flags {
  home?: string;
  takeOver?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Restores a backup into an empty HALO_HOME. Everything is verified first. Open runs continue when a worker starts there, as after a power failure.',
    )
    .argument('<file>', 'the file that `halo backup` wrote, or - for stdin')
    .option('--home <folder>', 'the empty or new folder (default: HALO_HOME)')
    .option('--take-over', 'confirm that the server of the backup has stopped for good')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: Flags) => restore(file, flags, cli));
};

const HELP = `
Examples:
  halo restore /backups/halo-2030-01-31.tar.gz
  age -d -i key.txt halo.tar.gz.age | halo restore - --take-over

Exit codes:
  0 restored              1 the disk failed
  2 the folder is not empty
  6 the backup is damaged or of a newer halo, or its original may still run

See also: halo backup`;

async function restore(file: string, { home: given, takeOver, json }: Flags, cli: Cli): Promise<void> {
  await assertHere(cli);
  const { finishRestore, isHalfRestored, restoreBackup } = await import('../api/restore.ts');
  const home = given === undefined ? (await cli.services.readHost()).home : resolve(cli.cwd, given);
  if (await isHalfRestored(home)) {
    await finishRestore(home);
    await cli.note(`The restore into ${home} that was interrupted is finished; ${file} was not read again.`);
    return json ? cli.printJson({ home, finished: true }) : undefined;
  }
  const progress = progressOf(cli);
  const report = await stoppable(cli, (signal) =>
    restoreBackup(sourceOf(file, cli), {
      ...{ home, signal, takeOver: takeOver === true },
      onProgress: (bytes) => progress(formatSize(bytes)),
    }),
  );
  if (json) return cli.printJson({ home, ...report });
  const { header, runs, open, files, bytes, missing } = report;
  await cli.print(`restored  ${runs} runs (${open} open), ${files} files, ${formatSize(bytes)}, as of ${header.at}`);
  if (!header.keys)
    await cli.note(
      'The backup has no keys: the server makes a new token, and `halo engine add <name>` lets each engine join again.',
    );
  for (const path of missing)
    await cli.note(
      cli.paintErr(
        'warn',
        `Open runs need ${safeLine(path)}, which is not on this machine: copy it before you start workers.`,
      ),
    );
}
