import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { Writable } from 'node:stream';
import { Option } from 'commander';
import type { BackupReport } from '../api/back-up.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { formatSize } from '../../../lib/units.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { stoppable } from '../../../cli/run/run-until-signal.ts';

interface Flags {
  withKeys?: true;
  without?: 'artifacts';
  check?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Writes a backup of HALO_HOME to a new file while halo works: journals, artifacts, configuration, users, commits that exist only here. `halo restore` needs nothing else except the repositories on this machine.',
    )
    .argument('<file>', 'the new file, or - for stdout')
    .option('--with-keys', 'also save the token of the server and the keys of engines, as they are')
    .addOption(
      new Option('--without <what>', 'leave out what `halo prune` may remove of ended runs').choices(['artifacts']),
    )
    .option('--check', 'verify a backup (- for stdin) instead of writing one')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: Flags) => (flags.check ? check(file, flags, cli) : backUp(file, flags, cli)));
};

const HELP = `
Examples:
  halo backup /backups/halo-$(date +%F).tar.gz
  halo backup - --with-keys | age -r age1… > halo.tar.gz.age
  halo backup --check /backups/halo-2030-01-31.tar.gz

Exit codes:
  0 written, or intact    1 a run or repository is damaged, or the disk failed
  2 no HALO_HOME, or the file exists    6 the backup is damaged, or of a newer halo

See also: halo restore, halo prune`;

async function backUp(file: string, { withKeys, without, json }: Flags, cli: Cli): Promise<void> {
  await assertHere(cli);
  if (file === '-' && json)
    throw new HaloError('USAGE', 'The backup itself is written to stdout.', { hint: 'Leave out --json.' });
  if (file === '-' && cli.terminal.shown)
    throw new HaloError('USAGE', 'A backup is not written to a terminal.', {
      hint: 'Name a file, or pipe it: `halo backup - | …`.',
    });
  const { backUp, backUpToFile } = await import('../api/back-up.ts');
  const { home } = await cli.services.readHost();
  const progress = progressOf(cli);
  const report = await stoppable(cli, (signal) => {
    const request = {
      ...{ home, signal, artifacts: without !== 'artifacts', keys: withKeys === true },
      onProgress: ({ runs, ofRuns, bytes }: { runs: number; ofRuns: number; bytes: number }) =>
        progress(`${runs} of ${ofRuns} runs, ${formatSize(bytes)}`),
    };
    return file === '-' ? backUp(request, stdoutOf(cli)) : backUpToFile(request, resolve(cli.cwd, file));
  });
  if (report.failed.length > 0) cli.exitCode = FAILED;
  if (json) return cli.printJson({ file: resolve(cli.cwd, file), ...report });
  await cli.note(...linesOf(report, cli));
}

/** Something could not be saved. */
const FAILED = 1;
const MAX_SHOWN = 20;

function linesOf(
  { header, runs, open, repositories, files, bytes, failed, leftOut }: BackupReport,
  cli: Cli,
): string[] {
  const what = [
    `${runs} runs (${open} open)`,
    ...(header.artifacts ? [] : ['without artifacts']),
    `${repositories} repositories`,
    `${files} files`,
    formatSize(bytes),
  ];
  return [
    ...failed.map(({ what, error }) => cli.paintErr('bad', `${safeLine(what)} failed: ${safeLine(error)}`)),
    ...leftOut
      .slice(0, MAX_SHOWN)
      .map((path) => cli.paintErr('quiet', `left out, because it is not a file of halo: ${safeLine(path)}`)),
    `saved  ${what.join(', ')}`,
    header.keys
      ? 'It has the token of the server and the keys of engines: keep it as secret as they are.'
      : 'It has no token of the server and no keys of engines: --with-keys saves them.',
  ];
}

async function check(file: string, { json }: Flags, cli: Cli): Promise<void> {
  const { checkBackup } = await import('../api/restore.ts');
  const progress = progressOf(cli);
  const result = await stoppable(cli, (signal) =>
    checkBackup(sourceOf(file, cli), { signal, onProgress: (bytes) => progress(formatSize(bytes)) }),
  );
  if (json) return cli.printJson({ file, ...result });
  const { header, files, bytes } = result;
  await cli.print(
    `intact  ${files} files, ${formatSize(bytes)}, made ${header.at} by halo ${safeLine(header.halo)} on ${safeLine(header.home.host)} of ${safeLine(header.home.path)}`,
  );
}

/** The bytes of a backup. Throws USAGE for a file that cannot be opened. */
export async function* sourceOf(file: string, cli: Cli): AsyncGenerator<Uint8Array> {
  if (file === '-') {
    yield* cli.stdin;
    return;
  }
  try {
    yield* createReadStream(resolve(cli.cwd, file)) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new HaloError('USAGE', `Could not read ${file}: ${(error as Error).message}.`, {
      hint: 'Name a file that `halo backup` wrote.',
      cause: error,
    });
  }
}

/** Throws USAGE if commands use a server elsewhere. */
export async function assertHere(cli: Cli): Promise<void> {
  if ((await cli.services.readHost()).apiUrl === undefined) return;
  throw new HaloError('USAGE', 'HALO_URL is set, but a backup is made and restored on the machine of the server.', {
    hint: 'Run the command there, without HALO_URL.',
  });
}

const PROGRESS_MS = 5000;

/** Prints progress to stderr, at most every five seconds. */
export function progressOf(cli: Cli): (text: string) => void {
  let at = performance.now();
  return (text) => {
    if (performance.now() - at < PROGRESS_MS) return;
    at = performance.now();
    void cli.note(cli.paintErr('quiet', text));
  };
}

function stdoutOf(cli: Cli): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void cli.writeExactly(chunk).then(() => done(), done),
  });
}
