import type { Cli, Define } from '../cli.ts';
import { untilStopped } from '../run/run-until-signal.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Serves the HTTP API, so that `halo submit`, `logs`, `status` and other commands work from other machines. Every request needs a token: HALO_TOKEN, or the one that is generated once in <HALO_HOME>/api-token.',
    )
    .option(
      '--listen <host:port>',
      'the address to listen on; other than loopback only with HALO_TOKEN set',
      '127.0.0.1:7070',
    )
    .addHelpText('after', HELP)
    .action((flags: { listen: string }) => serve(flags.listen, cli));
};

const HELP = `
Examples:
  halo serve
  HALO_TOKEN=... halo serve --listen 0.0.0.0:7070
  HALO_URL=http://127.0.0.1:7070 HALO_TOKEN=$(cat ~/.halo/api-token) halo status

See also: halo up, halo worker`;

async function serve(listen: string, cli: Cli): Promise<void> {
  const stopped = untilStopped(cli);
  const operations = await cli.services.openLocal();
  try {
    const api = await cli.services.serveApi({ operations, listen });
    await cli.print(`api       ${api.url}`, `dashboard ${api.url}/`, `token     ${api.token}`);
    await stopped;
    await api.close();
  } finally {
    await operations.close();
  }
}
