import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { AgentAdapter } from '../../src/agents/adapter.ts';

/** Where a program is in the sandbox, and on this host: tests of it outside a sandbox run only where it is named. */
const PROGRAMS: Record<string, { inside: string; here: string | undefined }> = {
  codex: { inside: '/opt/halo/agents/codex/bin/codex', here: process.env.HALO_TEST_CODEX },
  claude: { inside: '/opt/halo/agents/claude/claude', here: process.env.HALO_TEST_CLAUDE },
};

export function hasAgent(id: string): boolean {
  const here = PROGRAMS[id]?.here;
  return here !== undefined && existsSync(here);
}

/** Launches the real program as in a sandbox, but for the places: its home and workspace are folders in `dir`. */
export async function runAgent(
  adapter: AgentAdapter,
  dir: string,
  { modelUrl, model }: { modelUrl: string; model: string },
) {
  const [home, workspace] = [join(dir, 'home'), join(dir, 'workspace')];
  await mkdir(workspace, { recursive: true });
  const launch = adapter.launch({ model, modelUrl, home, commandLine: undefined });
  for (const [path, content] of Object.entries(launch.files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  const { inside = '', here = '' } = PROGRAMS[adapter.id] ?? {};
  const child = spawn('sh', ['-c', launch.script.replaceAll(inside, here)], {
    cwd: workspace,
    // Claude Code does not work for root outside of a sandbox.
    env: { PATH: process.env.PATH, HOME: home, IS_SANDBOX: '1', ...launch.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end('Add a greeting.');
  const exited = new Promise<number | undefined>((resolve) => child.on('close', (code) => resolve(code ?? undefined)));
  const [stdout, stderrTail] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderrTail, exitCode: await exited };
}
