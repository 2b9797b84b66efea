import { InvalidArgumentError } from 'commander';
import type { AddedEngine } from '../api/add-engine.ts';
import { judgeEnd } from '../core/connection-faults.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { ignore, sleep } from '../../../lib/async.ts';
import { parseDuration } from '../../../lib/units.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { collect } from '../../../cli/options/run-options.ts';
import { parseCount } from '../../../cli/run/run-until-signal.ts';
import { printFindings } from '../../../cli/output/findings.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';
import type { Operations } from '../../../api/operations.ts';
import { drainText } from '../../../view/run-words.ts';

type EngineView = Awaited<ReturnType<Operations['listEngines']>>['engines'][number];

interface AddFlags {
  address?: string;
  slots?: number;
  label?: string[];
  repo?: string[];
  user?: string[];
  server?: string;
  csr?: string;
  replace?: true;
  json?: true;
}

const AS_JSON = 'print the result as JSON';

export const define: Define = (command, cli) => {
  command
    .description(
      'Manages the `[[engines]]` of config.toml: Docker engines of other machines, on which stories run. Works on the machine of the server, as the user who owns HALO_HOME. The client key in `<HALO_HOME>/engines` makes its holder root on all of these machines.',
    )
    .addHelpText('after', HELP);
  command
    .command('add')
    .summary('add an engine, and print the command with which its machine joins')
    .description(
      'Adds an engine to config.toml, and prints one command for its machine. The command makes a private key there, which never leaves the machine, gets a certificate for it from the API of the server, and makes Docker listen with TLS. It works once, for one hour. For an engine that is in config.toml, the name alone prints a new command.',
    )
    .argument('<name>', 'small letters, digits and hyphens')
    .option('--address <address>', 'tcp://host:2376, or unix:///path')
    .option('--slots <n>', 'stories at the same time (default: 2)', parseCount)
    .option('--label <label>', 'a label that stories ask for (repeatable)', collect)
    .option('--repo <pattern>', 'only for this repository, `*` is any text (repeatable)', collect)
    .option('--user <name>', 'only for this user (repeatable)', collect)
    .option('--server <url>', 'the address of this server for its machine (default: `[server] url`)')
    .option('--csr <file>', 'print the certificates for a signing request instead')
    .option('--replace', 'give an engine another address; its machine joins again')
    .option('--json', AS_JSON)
    .addHelpText('after', ADD_HELP)
    .action((name: string, flags: AddFlags) => add(name, flags, cli));
  command
    .command('ls')
    .summary('list engines')
    .description('Lists the engines of config.toml, with their workers.')
    .option('--json', AS_JSON)
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('check')
    .summary('check an engine, and suggest fixes')
    .description(
      'Checks an engine from its connection, certificate and image to the isolation of a sandbox there, and suggests a fix for each problem.',
    )
    .argument('<name>', 'the engine')
    .option('--json', AS_JSON)
    .addHelpText('after', CHECK_HELP)
    .action((name: string, flags: { json?: true }) => check(name, flags, cli));
  command
    .command('drain')
    .summary('let an engine finish its stories and take no others')
    .description(
      'Lets the worker of an engine finish the stories that it runs and take no others, also after a restart, until `halo engine resume`.',
    )
    .argument('<name>', 'the engine')
    .addHelpText('after', DRAIN_HELP)
    .action((name: string) => drain(name, cli));
  command
    .command('resume')
    .summary('let a drained engine take stories again')
    .description('Lets the worker of a drained engine take stories again.')
    .argument('<name>', 'the engine')
    .addHelpText('after', RESUME_HELP)
    .action((name: string) => resume(name, cli));
  command
    .command('rekey')
    .summary('replace the authority and the key of all engines, or the certificate of one')
    .description(
      'Replaces the certificate authority, the client key of this server, and the certificates of all engines; with a name, only the certificate of this engine. Each engine is drained first, so no running story is lost, and Docker restarts there. Both authorities are valid until the last engine has the new one. Afterwards it takes stories again. If an engine is not reached, run the command again.',
    )
    .argument('[name]', 'the engine')
    .option(
      '--wait <duration>',
      'how long to wait for the running stories of an engine, and for its restart',
      parseWait,
      WAIT_MS,
    )
    .addHelpText('after', REKEY_HELP)
    .action((name: string | undefined, flags: { wait: number }) => rekey(name, flags, cli));
  command
    .command('rm')
    .summary('remove an engine')
    .description(
      'Removes an engine from config.toml, and its certificates. Its worker ends. What halo keeps on its machine stays there.',
    )
    .argument('<name>', 'the engine')
    .option('--force', 'also while stories run there, which start again elsewhere')
    .addHelpText('after', REMOVE_HELP)
    .action((name: string, flags: { force?: true }) => remove(name, flags, cli));
};

const HELP = `
Examples:
  halo engine add build-2 --address tcp://build-2.example.com:2376 --slots 6
  halo engine ls

See also: halo worker, halo doctor, halo up`;

const ADD_HELP = `
Examples:
  halo engine add build-2 --address tcp://build-2.example.com:2376 --slots 6 --label gpu
  halo engine add build-2 --server https://halo.example.com

Without HTTP, with the file docker/engine/join.sh of halo on the machine:
  sudo sh join.sh build-2 tcp://build-2.example.com:2376 --csr > build-2.csr
  halo engine add build-2 --csr build-2.csr > build-2.pem              on the server
  sudo sh join.sh build-2 tcp://build-2.example.com:2376 --install build-2.pem

Exit codes:
  0 added    2 wrong name, address or signing request    6 config.toml is not valid

See also: halo engine rm, halo up`;

const LIST_HELP = `
Examples:
  halo engine ls
  halo engine ls --json | jq -r '.[] | select(.workers == []).name'

See also: halo engine check, halo worker ls`;

const CHECK_HELP = `
Examples:
  halo engine check build-2
  halo engine check build-2 --json | jq -r '.[] | select(.ok != "ok").fix'

Exit codes:
  0 ready, possibly with warnings    5 it cannot run stories    6 no such engine

See also: halo engine ls, halo doctor`;

const DRAIN_HELP = `
Examples:
  halo engine drain build-2

Exit codes:
  0 done    6 no such engine

See also: halo engine resume, halo engine rm`;

const RESUME_HELP = `
Examples:
  halo engine resume build-2

Exit codes:
  0 done    6 no such engine

See also: halo engine drain, halo engine check`;

const REKEY_HELP = `
Examples:
  halo engine rekey
  halo engine rekey build-2

Exit codes:
  0 done    5 an engine still has the old certificate    6 no such engine

See also: halo engine check, halo engine add`;

const REMOVE_HELP = `
Examples:
  halo engine drain build-2
  halo engine rm build-2

On its machine, Docker still listens for the key of this server. To end that, as root:
  systemctl disable --now halo-engine.path
  rm -r /etc/docker/halo /etc/systemd/system/docker.service.d/halo.conf /etc/systemd/system/halo-engine.*
  systemctl daemon-reload && systemctl restart docker
  docker volume ls -q --filter label=dev.halo.home | xargs -r docker volume rm
Without systemd, remove /etc/docker/halo, and hosts and tls… in daemon.json, then restart Docker.

Exit codes:
  0 removed    6 no such engine, or stories run there

See also: halo engine drain, halo engine add`;

async function add(name: string, { json, label, repo, user, ...flags }: AddFlags, cli: Cli): Promise<void> {
  const { addEngine } = await import('../api/add-engine.ts');
  const lists = { labels: label, repositories: repo, users: user };
  const added = await addEngine(await homeHere(cli), { name, ...flags, ...lists });
  if (json) return cli.printJson(added);
  await show(added, cli);
}

async function show({ name, address, command, expiresAt, script, issued }: AddedEngine, cli: Cli): Promise<void> {
  if (issued !== undefined) return cli.write(`${issued.cert}${issued.ca}`);
  await cli.note(`${cli.paintErr('good', 'added')}  ${name}  ${safeLine(address)}`);
  if (script === undefined) return;
  if (command === undefined) {
    await cli.note(
      'Its machine needs the address of this server: set `[server] url` in config.toml, or name it each time:',
      `halo engine add ${name} --server https://…`,
      `Without HTTP, copy ${script} to the machine; \`halo engine add --help\` has the commands.`,
    );
    return;
  }
  await cli.note(`Run this on its machine, until ${expiresAt}; Docker restarts there:`);
  await cli.print(command);
  await cli.note(`Then: halo image push ${name} && halo engine check ${name}`);
}

async function list({ json }: { json?: true }, cli: Cli): Promise<void> {
  const { engines, keysEnd } = await cli.withOperations((operations) => operations.listEngines({}));
  if (json) return cli.printJson(engines);
  if (engines.length === 0) return cli.note('config.toml has no [[engines]]. Add one with `halo engine add`.');
  const heading = ['ENGINE', 'ADDRESS', 'STORIES', 'LABELS', 'FOR', 'STATE'].map((text) => ({ text }));
  await cli.print(...table([heading, ...engines.map(rowOf)], { paint: cli.paint, width: terminalColumns(cli) }));
  if (keysEnd === undefined) return;
  const { isSoon, says } = judgeEnd(new Date(keysEnd), new Date());
  if (isSoon) await cli.note(`The keys of this server are ${says}: halo engine rekey`);
}

function rowOf(engine: EngineView): Cell[] {
  const { name, address, slots, labels, repositories = [], users = [], workers } = engine;
  const busy = busyOf(workers);
  return [
    { text: safeLine(name), tone: 'strong' },
    { text: safeLine(address) },
    { text: `${busy}/${slots}` },
    { text: safeLine(labels.join(', ')) || '-' },
    { text: safeLine([...users, ...repositories].join(', ')) || 'all' },
    withEnd(stateOf(engine), engine),
  ];
}

/** A certificate that ends within a month is part of the state. */
function withEnd(state: Cell, { name, certificateEnds }: EngineView): Cell {
  if (certificateEnds === undefined || !judgeEnd(new Date(certificateEnds), new Date()).isSoon) return state;
  return { text: `${state.text}, certificate until ${safeLine(certificateEnds.slice(0, 10))}: halo engine rekey ${safeLine(name)}`, tone: 'warn' }; // prettier-ignore
}

function stateOf({ name, joined, drained: isDrained, workers }: EngineView): Cell {
  const taking = workers.filter(({ draining }) => !draining);
  const isIdle = workers.length === 0 ? isDrained === true : taking.length === 0;
  const drained = isIdle ? [drainText({ busy: busyOf(workers) })] : [];
  if (!joined) return { text: ['has not joined', ...drained].join(', '), tone: 'warn' };
  if (workers.length === 0) return { text: ['no worker', ...drained].join(', '), tone: 'warn' };
  if (taking.some(({ away }) => away !== true)) return { text: 'takes stories' };
  if (taking.length > 0) return { text: `not ready: halo engine check ${safeLine(name)}`, tone: 'warn' };
  return { text: drained.join(''), tone: 'warn' };
}

function busyOf(workers: EngineView['workers']): number {
  return workers.reduce((sum, { busy }) => sum + busy, 0);
}

async function check(name: string, { json }: { json?: true }, cli: Cli): Promise<void> {
  const { checkEngine } = await import('../api/check-engine.ts');
  const findings = await checkEngine(await homeHere(cli), name);
  if (findings.some(({ ok }) => ok === 'fail')) cli.exitCode = exitCodeOf('MISSING_DEPENDENCY');
  if (json) return cli.printJson(findings);
  await printFindings(findings, cli);
}

async function drain(name: string, cli: Cli): Promise<void> {
  await setDrained(name, true, cli, async (operations, id) => {
    const { busy } = await operations.drainWorker({ workerId: id });
    return drainText({ busy });
  });
}

async function resume(name: string, cli: Cli): Promise<void> {
  await setDrained(name, false, cli, async (operations, id) => {
    await operations.resumeWorker({ workerId: id });
    return 'resumed';
  });
}

/** Notes it for workers that start later, and orders it of those that run; `order` returns the new state of one in words. */
async function setDrained(
  name: string,
  drained: boolean,
  cli: Cli,
  order: (operations: Operations, workerId: string) => Promise<string>,
): Promise<void> {
  const { noteEngineDrained } = await import('../api/drain-engine.ts');
  const home = await homeHere(cli);
  await cli.withOperations(async (operations) => {
    await requireListed(operations, name);
    await noteEngineDrained(home, name, drained);
    // Read afterwards: one that has started meanwhile may not have seen the note.
    const { workers } = await requireListed(operations, name);
    for (const { id } of workers)
      await cli.print(`${cli.paint('good', await order(operations, id))}  ${name}  ${safeLine(id)}`);
    if (workers.length === 0) await cli.print(`${cli.paint('good', drained ? 'drained' : 'resumed')}  ${name}`);
  });
}

const WAIT_MS = 60 * 60_000;
const EVERY_MS = 2_000;

async function rekey(name: string | undefined, { wait }: { wait: number }, cli: Cli): Promise<void> {
  const { beginRekey, rekeyEngine } = await import('../api/rekey-engine.ts');
  const home = await homeHere(cli);
  const names = name === undefined ? await beginRekey(home) : [name];
  for (const each of names)
    try {
      await cli.note(`${each}: waits for its stories`);
      const onStored = () =>
        cli.note(`${each}: waits for the restart of Docker there: without systemd, restart it now`);
      const work = () => rekeyEngine(home, each, { waitMs: wait, onStored });
      await cli.withOperations((operations) => whileDrained(operations, { name: each, waitMs: wait, work }));
      await cli.print(`${cli.paint('good', 'rekeyed')}  ${each}`);
    } catch (error) {
      const { message, hint } = toHaloError(error);
      cli.exitCode = exitCodeOf('MISSING_DEPENDENCY');
      await cli.note(cli.paintErr('bad', `${each}: ${message}`), ...(hint === undefined ? [] : [`hint:  ${hint}`]));
    }
}

interface DrainedWork {
  name: string;
  /** How long its stories may take. */
  waitMs: number;
  /** Resolves with whether the workers have to start again before they can take stories. */
  work: () => Promise<boolean>;
}

/**
 * Works while the workers of an engine are drained; afterwards they take stories again, unless they were drained before.
 * Throws CONTROL_REFUSED if the stories take too long.
 */
async function whileDrained(operations: Operations, { name, waitMs, work }: DrainedWork): Promise<void> {
  const taking = (await requireListed(operations, name)).workers.filter(({ draining }) => !draining);
  let mustRestart = false;
  try {
    for (const { id } of taking) await operations.drainWorker({ workerId: id });
    await untilIdle(operations, name, waitMs);
    mustRestart = await work();
  } finally {
    // One that has ended meanwhile needs no order.
    if (!mustRestart) for (const { id } of taking) await operations.resumeWorker({ workerId: id }).catch(ignore);
  }
}

async function untilIdle(operations: Operations, name: string, waitMs: number): Promise<void> {
  for (const end = Date.now() + waitMs; ; await sleep(EVERY_MS)) {
    const { workers } = await requireListed(operations, name);
    if (workers.every(({ busy }) => busy === 0)) return;
    if (Date.now() > end)
      throw new HaloError('CONTROL_REFUSED', `The engine ${name} still runs stories.`, {
        hint: 'Run `halo engine rekey` again later, or give it more time with --wait.',
      });
  }
}

function parseWait(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It must be a duration, like 30m.');
}

async function remove(name: string, { force }: { force?: true }, cli: Cli): Promise<void> {
  const home = await homeHere(cli);
  if (force !== true) await cli.withOperations((operations) => assertIdle(operations, name));
  const { removeEngine } = await import('../api/add-engine.ts');
  const isJoined = await removeEngine(home, name);
  await cli.print(`${cli.paint('good', 'removed')}  ${name}`);
  if (isJoined)
    await cli.note('Docker still listens on its machine: `halo engine rm --help` has the commands that end it.');
}

async function assertIdle(operations: Operations, name: string): Promise<void> {
  const { workers } = await requireListed(operations, name);
  const busy = busyOf(workers);
  if (busy === 0) return;
  const hint = workers.every(({ draining }) => draining)
    ? 'Wait until it is drained, or use --force: they start again elsewhere.'
    : `Drain it first with \`halo engine drain ${name}\`, or use --force: they start again elsewhere.`;
  const runs = `${busy} ${busy === 1 ? 'story' : 'stories'}`;
  throw new HaloError('CONTROL_REFUSED', `The engine ${name} runs ${runs}.`, { hint });
}

async function requireListed(operations: Operations, name: string): Promise<EngineView> {
  const found = (await operations.listEngines({})).engines.find((engine) => engine.name === name);
  if (found !== undefined) return found;
  throw new HaloError('CONFIG_INVALID', `There is no engine ${JSON.stringify(safeLine(name, 100))}.`, {
    hint: 'Run `halo engine ls` to list the engines of config.toml.',
  });
}

/** HALO_HOME, of which this machine must be the server. */
async function homeHere(cli: Cli): Promise<string> {
  const { home, apiUrl } = await cli.services.readHost();
  if (apiUrl === undefined) return home;
  throw new HaloError('USAGE', 'Engines are managed on the machine of the server, but HALO_URL names another one.', {
    hint: 'Unset HALO_URL, or run the command there.',
  });
}
