import type { Cli, Define } from '../cli.ts';
import { eventLine } from '../output/event-line.ts';
import { parseCount, untilStopped } from '../run/run-until-signal.ts';

interface Flags {
  workers: number;
  listen: string;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Runs Redis, the HTTP API and workers in one foreground process. Prints a line when a run or story starts or ends.',
    )
    .option('--workers <n>', 'number of stories to run in parallel', parseCount, 2)
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

Uses the Redis at HALO_REDIS_URL, or starts its own. Ctrl-C shuts down cleanly; a
second Ctrl-C exits immediately.

See also: halo serve, halo worker, halo submit`;

async function up({ workers, listen }: Flags, cli: Cli): Promise<void> {
  const stopped = untilStopped(cli);
  const { redisUrl, home } = await cli.services.readHost();
  const operations = await cli.services.openLocal();
  try {
    const worker = await cli.services.startWorker({ concurrency: workers, log: 'file' });
    try {
      const api = await cli.services.serveApi({ operations, listen });
      await cli.print(
        `redis     ${redisUrl === undefined ? "halo's own" : describeRedis(redisUrl)}`,
        `workers   ${workers} ${workers === 1 ? 'story' : 'stories'} in parallel`,
        `api       ${api.url}`,
        `dashboard ${api.url}/`,
        `token     ${api.token}`,
        `home      ${home}`,
      );
      const watching = new AbortController();
      const printed = cli.services.watchRuns({
        signal: watching.signal,
        onEvent: (event, state) => {
          const line = eventLine(event, state, cli.paint);
          return line === undefined ? undefined : cli.print(line);
        },
      });
      await stopped;
      watching.abort();
      await Promise.all([printed, api.close()]);
    } finally {
      await worker.close();
    }
  } finally {
    await operations.close();
  }
}

function describeRedis(text: string): string {
  const url = URL.parse(text);
  return url === null ? 'HALO_REDIS_URL' : `${url.protocol}//${url.host}${url.pathname}`;
}
