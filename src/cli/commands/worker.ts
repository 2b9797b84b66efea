import type { WorkerView } from '../../api/operations/schemas.ts';
import { msBetween } from '../../core/text/format-elapsed.ts';
import { ageText, formatAge } from '../../view/ages.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';
import { parseCount, untilStopped } from '../run/run-until-signal.ts';
import { closedText } from '../../view/run-words.ts';

interface Flags {
  concurrency?: number;
  engine?: string;
  /** Started by `halo up`. */
  attached?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Executes queued runs until it is stopped: several runs in parallel, and the stories of one run in order, unless `run.parallel` allows more. You can start any number of workers on one machine; their sandboxes may run on engines of other machines.',
    )
    .option(
      '--concurrency <n>',
      'number of stories to run in parallel (default: the slots of the engine, or 2)',
      parseCount,
    )
    .option('--engine <name>', 'run sandboxes on this engine of [[engines]], and take only stories for it')
    .option('--attached', 'log to <HALO_HOME>/worker.log, and end with the process that started it')
    .addHelpText('after', HELP)
    .action((flags: Flags) => work(flags, cli));
  command
    .command('ls')
    .summary('list running workers')
    .description('Lists the running workers, the oldest first, with the stories that they run.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('drain')
    .summary('let a worker finish its stories and take no others')
    .description(
      'Lets a worker finish the stories that it runs and take no others, for example before an upgrade. It keeps running, until `halo worker resume` lets it take stories again, or it is stopped.',
    )
    .argument('<worker>', WORKER)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', DRAIN_HELP)
    .action((worker: string, flags: { json?: true }) => drain(worker, flags, cli));
  command
    .command('resume')
    .summary('let a drained worker take stories again')
    .description('Lets a drained worker take stories again.')
    .argument('<worker>', WORKER)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', RESUME_HELP)
    .action((worker: string, flags: { json?: true }) => resume(worker, flags, cli));
};

const WORKER = 'any unique part of an id of `halo worker ls`';

const HELP = `
Examples:
  halo worker
  halo worker --concurrency 4
  halo worker --engine build-2

Logs JSON lines to stderr. Ctrl-C shuts down cleanly; a second Ctrl-C exits immediately.

Exit codes:
  0 stopped    5 Docker, Redis or git is missing    6 no such engine is configured

See also: halo submit, halo up, halo doctor`;

const LIST_HELP = `
Examples:
  halo worker ls
  halo worker ls --json | jq -r '.[] | select(.draining and .busy == 0) | .id'

See also: halo worker drain, halo worker resume`;

const EXIT_CODES = `
Exit codes:
  0 done    2 no such worker is running    5 Redis does not answer
  6 it takes only the run of \`halo run\`, or the queue does not know it`;

const DRAIN_HELP = `
Examples:
  halo worker drain 3f2a
  halo worker drain any-3f2a90c1d4e5b678 --json
${EXIT_CODES}

See also: halo worker ls, halo worker resume`;

const RESUME_HELP = `
Examples:
  halo worker resume 3f2a
  halo worker resume any-3f2a90c1d4e5b678 --json
${EXIT_CODES}

See also: halo worker ls, halo worker drain`;

async function work({ concurrency: asked, engine, attached }: Flags, cli: Cli): Promise<void> {
  const ended = new Promise<void>((resolve) => attached && cli.onParentEnd(resolve));
  const stopped = Promise.race([untilStopped(cli), ended]);
  const log = attached ? 'file' : 'stderr';
  const worker = await cli.services.startWorker({ concurrency: asked, engine, log });
  const { concurrency } = worker;
  const where = engine === undefined ? '' : ` on the engine ${safeLine(engine)}`;
  await cli.note(`running up to ${concurrency} ${concurrency === 1 ? 'story' : 'stories'} in parallel${where}`);
  await stopped;
  await worker.close();
}

async function list({ json }: { json?: true }, cli: Cli): Promise<void> {
  const { workers } = await cli.withOperations((operations) => operations.listWorkers());
  if (json) return cli.printJson(workers);
  if (workers.length === 0) return cli.note('No worker is running. Start one with `halo worker`.');
  const heading = ['WORKER', 'ENGINE', 'HOST', 'PID', 'STORIES', 'VERSION', 'UP', 'LAST CONTACT', 'STATE'];
  const now = new Date().toISOString();
  const rows = workers.map((worker) => rowOf(worker, now));
  const cells = [heading.map((text) => ({ text })), ...rows];
  await cli.print(...table(cells, { paint: cli.paint, width: terminalColumns(cli) }));
}

function rowOf(worker: WorkerView, now: string): Cell[] {
  const { id, engine, host, pid, slots, busy = 0, version, since, seen } = worker;
  return [
    { text: safeLine(id), tone: 'strong' },
    { text: safeLine(engine ?? '-') },
    { text: safeLine(host) },
    { text: String(pid) },
    { text: slots === undefined ? '-' : `${busy}/${slots}` },
    { text: safeLine(version ?? '-') },
    { text: since === undefined ? '-' : formatAge(msBetween(since, now)) },
    { text: seen === undefined ? '-' : ageText(seen, now) },
    stateOf(worker),
  ];
}

function stateOf(worker: WorkerView): Cell {
  const closed = closedText(worker);
  if (closed !== undefined) return { text: closed, tone: 'warn' };
  if (worker.slots === undefined) return { text: 'not known to the queue', tone: 'warn' };
  return { text: worker.takes === 'own' ? 'takes its own run' : 'takes stories' };
}

async function drain(asked: string, { json }: { json?: true }, cli: Cli): Promise<void> {
  const worker = await cli.withOperations((operations) => operations.drainWorker({ workerId: asked }));
  if (json) return cli.printJson(worker);
  const { id, busy = 0 } = worker;
  if (busy === 0) return cli.print(`${cli.paint('good', 'drained')}  ${safeLine(id)}`);
  await cli.print(
    `${cli.paint('good', 'draining')}  ${safeLine(id)}  ${busy} ${busy === 1 ? 'story' : 'stories'} left`,
  );
  await cli.note('`halo worker ls` shows when it is drained.');
}

async function resume(asked: string, { json }: { json?: true }, cli: Cli): Promise<void> {
  const worker = await cli.withOperations((operations) => operations.resumeWorker({ workerId: asked }));
  if (json) return cli.printJson(worker);
  await cli.print(`${cli.paint('good', 'resumed')}  ${safeLine(worker.id)}`);
}
