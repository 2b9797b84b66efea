import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { codex } from '../../src/agents/codex/index.ts';

/** Path of a Codex executable on this host; tests of the real CLI outside a sandbox run only where it is named. */
const binary = process.env.HALO_TEST_CODEX;

export function hasCodex(): boolean {
  return binary !== undefined && existsSync(binary);
}

/** Launches the real Codex as in a sandbox, but for the places: its home and workspace are folders in `dir`. */
export async function runCodex(dir: string, { modelUrl, model }: { modelUrl: string; model: string }) {
  const [home, workspace] = [join(dir, 'home'), join(dir, 'workspace')];
  await mkdir(workspace, { recursive: true });
  const launch = codex.launch({ model, modelUrl, home, commandLine: undefined });
  for (const [path, content] of Object.entries(launch.files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  const script = launch.script.replace('/opt/halo/agents/codex/bin/codex', binary ?? '');
  const child = spawn('sh', ['-c', script], {
    cwd: workspace,
    env: { PATH: process.env.PATH, HOME: home, ...launch.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end('Add a greeting.');
  const exited = new Promise<number | undefined>((resolve) => child.on('close', (code) => resolve(code ?? undefined)));
  const [stdout, stderrTail] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderrTail, exitCode: await exited };
}
