import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { eventLine } from '../output/event-line.ts';
import { parseCount, untilStopped } from '../run/run-until-signal.ts';

interface Flags {
  workers: number;
  listen: string;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Runs everything that one machine needs in one foreground process: Redis, the HTTP API and workers. It prints a line for each run and story that begins or ends.',
    )
    .option('--workers <n>', 'stories at a time', parseCount, 2)
    .option('--listen <host:port>', 'where the API listens; beyond loopback only with HALO_TOKEN set', '127.0.0.1:7070')
    .addHelpText('after', HELP)
    .action((flags: Flags) => up(flags, cli));
};

const HELP = `
Examples:
  halo up
  halo up --workers 4 --listen 127.0.0.1:8080

Redis is the one in HALO_REDIS_URL, else one that halo starts for itself. Ctrl-C
stops all of it in good order, a second one at once.

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
        `redis    ${redisUrl === undefined ? "halo's own" : withoutPassword(redisUrl)}`,
        `workers  ${workers} ${workers === 1 ? 'story' : 'stories'} at a time`,
        `api      ${api.url}`,
        `token    ${api.token}`,
        `home     ${home}`,
      );
      const watching = new AbortController();
      const told = cli.services.watchRuns({
        signal: watching.signal,
        onEvent: (event, state) => {
          const line = eventLine(event, state, cli.paint);
          return line === undefined ? undefined : cli.print(line);
        },
      });
      await stopped;
      watching.abort();
      await Promise.all([told, api.close()]);
    } finally {
      await worker.close();
    }
  } finally {
    await operations.close();
  }
}

function withoutPassword(text: string): string {
  const url = URL.parse(text);
  return url === null ? 'HALO_REDIS_URL' : `${url.protocol}//${url.host}${url.pathname}`;
}
