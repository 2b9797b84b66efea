import { resolve } from 'node:path';
import type { CheckBegun, CheckedCommand, CheckEvent } from '../../api/repository/check-repository.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { failedTestsLines } from '../../core/test-report/failed-tests.ts';
import { describeRestored } from '../../core/review/restored-paths.ts';
import { openSafeStream, type SafeStream } from '../../core/text/safe-stream.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Cli, Define } from '../cli.ts';
import { collect } from '../options/run-options.ts';
import { stoppable } from '../run/run-until-signal.ts';

interface Flags {
  repo: string;
  profile?: string;
  config?: string[];
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Runs setup and gates on the checked-out commit, in the same sandboxes as for a story, and prints their output. Needs no PRD and no key, starts no agent, and creates no run.',
    )
    .option('-C, --repo <path>', 'the repository', '.')
    .option('--profile <name>', 'use [profiles.<name>] of the configuration')
    .option('-c, --config <key=value>', 'override one setting, e.g. -c setup=[] (repeatable)', collect)
    .option('--json', 'print only the results, as JSON: each command with its duration and error')
    .addHelpText('after', HELP)
    .action((flags: Flags) => runCheck(flags, cli));
};

const HELP = `
Examples:
  halo check
  halo check -C ../shop -c 'gates=["npm test"]'

Exit codes:
  0 all passed    10 setup or a gate failed    5 Docker or an image is missing
  6 no repository, no gates, an invalid configuration, or the agent's script is not in the commit
  130 stopped by Ctrl-C

See also: halo init, halo run, halo verify`;

async function runCheck({ repo, profile, config = [], json }: Flags, cli: Cli): Promise<void> {
  const show = progressPrinter(cli);
  let begun: CheckBegun | undefined;
  let prepareMs = 0;
  const checked = await stoppable(cli, (signal) =>
    cli.services.check({
      folder: resolve(cli.cwd, repo),
      profile,
      set: config,
      signal,
      tell: async (event) => {
        if (event.type === 'begun') {
          begun = event;
          await cli.note(...event.warnings.map((warning) => `${cli.paintErr('warn', 'warning:')} ${warning}`));
        }
        if (event.type === 'prepared') prepareMs = event.ms;
        if (!json) await show(event);
      },
    }),
  );
  const fault = checked.find((each) => each.fault !== undefined)?.fault;
  if (fault !== undefined) cli.exitCode = exitCodeOf(fault.stopReason);
  if (json) {
    const { repo, commit, image } = begun ?? {};
    return cli.printJson({ repo, commit, image, ok: fault === undefined, prepareMs, commands: checked });
  }
  await cli.print('', ...faultLines(checked, cli), cli.paint(fault === undefined ? 'good' : 'bad', summaryOf(checked)));
}

/** Prints each command, its output and its result. */
function progressPrinter(cli: Cli): (event: CheckBegun | CheckEvent) => Promise<void> {
  const row = (label: string, text: string) => cli.print(`${cli.paint('quiet', label.padEnd(8))} ${text}`);
  let output: SafeStream = openSafeStream();
  return (event) => {
    switch (event.type) {
      case 'begun': {
        const on = event.branch === undefined ? '' : ` (${safeLine(event.branch)})`;
        return row('base', `${event.commit.slice(0, 7)} of ${event.repo}${on}, image ${event.image}`);
      }
      case 'prepared':
        return row('prepare', `ok  ${formatElapsed(event.ms)}`);
      case 'started':
        output = openSafeStream();
        return row(event.kind, cli.paint('strong', safeLine(event.command)));
      case 'printed':
        return cli.write(output.write(event.bytes));
      case 'ended': {
        const rest = output.end();
        const word = event.fault === undefined ? cli.paint('good', 'ok') : cli.paint('bad', 'FAILED');
        const undone = event.restored === undefined ? '' : `  (before it, halo ${describeRestored(event.restored)})`;
        const before = (event.prepared ?? []).map(
          ({ service, ms }) => `  (${service} prepared in ${formatElapsed(ms)})`,
        );
        const newLine = rest === '' || rest.endsWith('\n') ? '' : '\n';
        return cli
          .write(`${rest}${newLine}`)
          .then(() => row('', `${word}  ${formatElapsed(event.ms)}${before.join('')}${undone}`));
      }
    }
  };
}

/** Why gates failed; the last line of a failed setup already gives the reason. */
function faultLines(checked: readonly CheckedCommand[], cli: Cli): string[] {
  return checked.flatMap(({ kind, fault, failed }) =>
    fault === undefined || kind === 'setup'
      ? []
      : [
          `${cli.paint('bad', 'failed')}  ${safeLine(fault.says, 1000)}`,
          ...(failed === undefined ? [] : failedTestsLines(failed).map((line) => `        ${line}`)),
        ],
  );
}

/** `setup 12.0s · 2 gates pass`, `setup failed: …`, `1 of 2 gates failed` */
function summaryOf(checked: readonly CheckedCommand[]): string {
  const [setup, gates] = (['setup', 'gate'] as const).map((kind) => checked.filter((each) => each.kind === kind));
  const broken = setup?.find(({ fault }) => fault !== undefined)?.fault;
  if (broken !== undefined) return `setup failed: ${safeLine(broken.says, 1000)}; no gate ran`;
  const count = gates?.length ?? 0;
  const bad = gates?.filter(({ fault }) => fault !== undefined).length ?? 0;
  const judged =
    count === 0
      ? 'no gates'
      : bad > 0
        ? `${bad} of ${count} gates failed`
        : count === 1
          ? '1 gate passes'
          : `${count} gates pass`;
  const ms = (setup ?? []).reduce((sum, each) => sum + each.ms, 0);
  return setup?.length === 0 ? judged : `setup ${formatElapsed(ms)} · ${judged}`;
}
