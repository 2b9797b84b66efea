import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { acquireLock, LockBusyError, type AcquiredLock } from '../../lib/lock.ts';
import type { ConfiguredEngine } from '../../config/engine-address.ts';
import type { Cli, Define } from '../cli.ts';
import { eventLine } from '../output/event-line.ts';
import { watchStandings } from '../run/engine-standings.ts';
import { EngineWorkers } from '../run/engine-workers.ts';
import { parseCountOrNone, untilStopped } from '../run/run-until-signal.ts';
import { startWorkerProcess } from '../run/worker-process.ts';

interface Flags {
  workers: number;
  listen: string;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Runs Redis, the HTTP API and workers: one in this process, and one process for each engine of [[engines]], which it starts again if it ends. Prints a line when a run or story starts or ends.',
    )
    .option('--workers <n>', 'stories to run in parallel on the engine of this machine; 0: none', parseCountOrNone, 2)
    .option(
      '--listen <host:port>',
      'the address of the API; other than loopback only with HALO_TOKEN set',
      '127.0.0.1:7070',
    )
    .addHelpText('after', HELP)
    .action((flags: Flags) => up(flags, cli));
};

const HELP = `
Examples:
  halo up
  halo up --workers 4 --listen 127.0.0.1:8080
  halo up --workers 0

Uses the Redis at HALO_REDIS_URL, or starts its own. Ctrl-C shuts down cleanly; a
second Ctrl-C exits immediately.

See also: halo serve, halo worker, halo submit`;

async function up({ workers, listen }: Flags, cli: Cli): Promise<void> {
  const stopped = untilStopped(cli);
  const { redisUrl, home } = await cli.services.readHost();
  const lock = await lockHome(home);
  const operations = await cli.services.openLocal();
  try {
    const worker = workers === 0 ? undefined : await cli.services.startWorker({ concurrency: workers, log: 'file' });
    let engines: EngineWorkers | undefined;
    try {
      const api = await cli.services.serveApi({ operations, listen });
      await cli.print(
        `redis     ${redisUrl === undefined ? "halo's own" : describeRedis(redisUrl)}`,
        `workers   ${workers === 0 ? 'none' : `${workers} ${workers === 1 ? 'story' : 'stories'} in parallel`}`,
        `api       ${api.url}`,
        `dashboard ${api.url}/`,
        `token     ${api.token}`,
        `home      ${home}`,
      );
      if (api.isPlain)
        await cli.note(
          `${cli.paintErr('warn', '!')} the API is plain HTTP, so the network can read tokens and results: set tls_certificate and tls_key in [server] of config.toml`,
        );
      engines = new EngineWorkers({
        readEngines: () => readWanted(home),
        start: startWorkerProcess,
        say: (line) => void cli.print(line),
      });
      const watching = new AbortController();
      const printed = cli.services.watchRuns({
        signal: watching.signal,
        onEvent: (event, state) => {
          const line = eventLine(event, state, cli.paint);
          return line === undefined ? undefined : cli.print(line);
        },
      });
      const read = async () => (await operations.listWorkers()).workers;
      const watched = watchStandings(read, (line) => void cli.print(line), watching.signal);
      await stopped;
      watching.abort();
      await Promise.all([printed, watched, api.close()]);
    } finally {
      await Promise.all([engines?.close(), worker?.close()]);
    }
  } finally {
    await operations.close();
    await lock.release();
  }
}

/** Two of them would have two workers for each engine. Throws USAGE. */
async function lockHome(home: string): Promise<AcquiredLock> {
  try {
    return await acquireLock(join(home, 'locks', 'up.lock'), { waitMs: 0, makeFolder: true, isProvable: true });
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error;
    throw new HaloError('USAGE', `\`halo up\` already runs for ${home}, as ${safeLine(error.owner)}.`, {
      hint: 'Use or stop it. For more stories in parallel, start `halo worker`.',
    });
  }
}

/** The engines of config.toml, each with what its worker is started with. */
async function readWanted(home: string): Promise<ReadonlyMap<string, string>> {
  const [{ readEngines }, { readEngineAddress }] = await Promise.all([
    import('../../config/host-rules.ts'),
    import('../../config/engine-address.ts'),
  ]);
  const settings = async (engine: ConfiguredEngine) => {
    // Without its certificates, it is for the worker to say what is missing.
    const at = await readEngineAddress(home, engine).catch(() => engine);
    return [engine.name, JSON.stringify([at, engine.slots])] as const;
  };
  return new Map(await Promise.all((await readEngines(home)).map(settings)));
}

function describeRedis(text: string): string {
  const url = URL.parse(text);
  return url === null ? 'HALO_REDIS_URL' : `${url.protocol}//${url.host}${url.pathname}`;
}
