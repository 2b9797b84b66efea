import type { Operations } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import { exitCodeOf, type StopReason } from '../../core/stop-reason.ts';
import { askApproval } from '../ask-approval.ts';
import type { Cli } from '../cli.ts';
import type { Worker } from '../compose.ts';
import { followRun } from '../follow-run.ts';
import type { Define } from '../define.ts';
import { readPrd } from '../read-prd.ts';
import { addSettingOptions, ASK, repoSource, settingsOf, type SettingFlags } from '../run-options.ts';

interface Flags extends SettingFlags {
  repo: string;
  allowDirty?: true;
  json?: true;
}

const ABORTED = exitCodeOf('USER_ABORT');

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs a PRD against a git repository and follows it to its end: queue, worker and progress in this one process. What lands is on the branch halo/<runId>; your checkout stays untouched until `halo land`, but for the marks of landed stories in the PRD file.',
      )
      .argument('<prd>', 'the PRD file, or - for stdin')
      .option('--repo <path>', 'the repository', '.'),
  )
    .option(...ASK)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--json', 'print one journal event per line, for machines')
    .addHelpText('after', HELP)
    .action((prd: string, flags: Flags) => run(prd, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json
  halo run prd.json --repo ../shop -c retry.attempts=1
  halo run prd.json --json | jq -r 'select(.type == "story.ended") | .verdict'

Ctrl-C stops the run in good order; a second one exits at once. When stdout is no
terminal, progress comes as plain lines and the run directory is the last of them.

Exit codes:
  0 every story landed     4 needs a person     5 something is missing    6 cannot start
  10 a story failed        11 ... in each of its attempts                 12 some landed
  2 wrong usage            130 stopped by Ctrl-C                          1 infrastructure

See also: halo submit, halo status, halo land`;

async function run(file: string, flags: Flags, cli: Cli): Promise<void> {
  const prd = await readPrd(file, cli);
  const remote = (await cli.services.readHost()).apiUrl !== undefined;
  const operations = await cli.services.openOperations({ executesHere: true });
  try {
    const [submitted] = await operations.submit({
      prd,
      repos: [repoSource(cli.cwd, flags.repo)],
      profile: flags.profile,
      set: settingsOf(flags),
      allowDirty: flags.allowDirty === true,
    });
    if (submitted === undefined) return;
    const worker = remote
      ? undefined
      : await cli.services.startWorker({
          concurrency: submitted.parallel,
          log: 'file',
          owner: submitted.owner,
        });
    try {
      const { runId, warnings } = submitted;
      await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`));
      const following = { operations, worker, cli, json: flags.json === true };
      const asks = flags.askForApproval === true && !following.json;
      let end = await follow(runId, following);
      while (end === 'NEEDS_HUMAN' && asks && (await askApproval(operations, runId, cli)))
        end = await follow(runId, following);
      cli.exitCode = end === undefined ? ABORTED : exitCodeOf(end);
    } finally {
      await worker?.close();
    }
  } finally {
    await operations.close();
  }
}

interface Following {
  operations: Operations;
  /** Absent when the run is executed elsewhere. */
  worker: Worker | undefined;
  cli: Cli;
  json: boolean;
}

/** Follows the run to its end; undefined when it goes on without us. */
async function follow(runId: string, { operations, worker, cli, json }: Following): Promise<StopReason | undefined> {
  let say = (line: string): void => void cli.note(line);
  const leave = new AbortController();
  let stopping: Promise<void> | undefined;
  const off = cli.onStop(() => {
    if (stopping !== undefined) return cli.exitNow(ABORTED);
    stopping = stop().catch((error: unknown) => leave.abort(error));
  });
  async function stop(): Promise<void> {
    if (worker === undefined) {
      leave.abort();
      return say(
        `no longer following; the run goes on. \`halo logs ${runId} -f\` follows it again, \`halo cancel ${runId}\` ends it.`,
      );
    }
    say('stopping: the attempt under way is given up, what landed stays. Ctrl-C again exits at once.');
    await operations.cancel(runId, undefined);
  }
  try {
    const signal = leave.signal;
    const end = await followRun({ operations, runId, cli, json, signal, onDrawn: (drawn) => (say = drawn) });
    await stopping;
    return end;
  } finally {
    off();
  }
}
