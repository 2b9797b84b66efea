import type { Cli, Define } from '../cli.ts';
import { parseCount, untilStopped } from '../run/run-until-signal.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Executes queued runs until it is stopped: several runs in parallel, and the stories of one run in order, unless `run.parallel` allows more. You can start any number of workers, on one machine or on several that share HALO_REDIS_URL and HALO_HOME.',
    )
    .option('--concurrency <n>', 'number of stories to run in parallel', parseCount, 2)
    .addHelpText('after', HELP)
    .action((flags: { concurrency: number }) => work(flags.concurrency, cli));
};

const HELP = `
Examples:
  halo worker
  halo worker --concurrency 4

Logs JSON lines to stderr. Ctrl-C shuts down cleanly; a second Ctrl-C exits immediately.

Exit codes:
  0 stopped    5 Docker, Redis or git is missing

See also: halo submit, halo up, halo doctor`;

async function work(concurrency: number, cli: Cli): Promise<void> {
  const stopped = untilStopped(cli);
  const worker = await cli.services.startWorker({ concurrency, log: 'stderr' });
  await cli.note(`running up to ${concurrency} ${concurrency === 1 ? 'story' : 'stories'} in parallel`);
  await stopped;
  await worker.close();
}
