import { Readable, Writable } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import type { Cli, Define } from '../cli.ts';
import { untilStopped } from '../run/run-until-signal.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Serves halo as tools of the Model Context Protocol on stdin and stdout, for an agent that starts it: validate and submit PRDs, wait for runs, read logs and diffs. Deciding tools (answer, tell, approve, reject, land, cancel, requestPull) need `[mcp] decide = true` in <HALO_HOME>/config.toml.',
    )
    .addHelpText('after', HELP)
    .action(() => serveTools(cli));
};

const HELP = `
Examples:
  claude mcp add halo -- halo mcp
  codex mcp add halo -- halo mcp

With HALO_URL, the tools use that server. \`halo serve\` and \`halo up\` serve the same tools over
HTTP, at /mcp.

See also: halo serve, halo plugin`;

async function serveTools(cli: Cli): Promise<void> {
  if (cli.stdin.isTTY === true) {
    throw new HaloError('USAGE', '`halo mcp` speaks JSON-RPC with a program on stdin, and stdin is a terminal.', {
      hint: 'Let an agent start it, e.g. with `claude mcp add halo -- halo mcp`.',
    });
  }
  const output = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void cli.writeExactly(chunk).then(() => done(), done),
  });
  await cli.services.serveMcp({ input: Readable.from(cli.stdin), output, stopped: untilStopped(cli) });
}
