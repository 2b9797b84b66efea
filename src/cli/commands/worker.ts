import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { parseCount, untilStopped } from '../run/run-until-signal.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Executes queued runs until it is stopped: stories of one run in order, unless `run.parallel` allows more at once, and several runs in parallel. Start as many workers as you like, on one machine or on several that share HALO_REDIS_URL and HALO_HOME.',
    )
    .option('--concurrency <n>', 'stories at a time', parseCount, 2)
    .addHelpText('after', HELP)
    .action((flags: { concurrency: number }) => work(flags.concurrency, cli));
};

const HELP = `
Examples:
  halo worker
  halo worker --concurrency 4

Its log is JSON lines on stderr. Ctrl-C stops it in good order, a second one at once.

Exit codes:
  0 stopped    5 Docker, Redis or git is missing

See also: halo submit, halo up, halo doctor`;

async function work(concurrency: number, cli: Cli): Promise<void> {
  const stopped = untilStopped(cli);
  const worker = await cli.services.startWorker({ concurrency, log: 'stderr' });
  await cli.note(`working on up to ${concurrency} ${concurrency === 1 ? 'story' : 'stories'} at a time`);
  await stopped;
  await worker.close();
}
