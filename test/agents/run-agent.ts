import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ModelApi } from '../../src/core/agent.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { AgentIntent } from '../../src/agents/adapter.ts';
import { agentAdapter } from '../../src/agents/registry.ts';
import type { ProgramAgent } from '../support/agent-ids.ts';

/** Where a program is in the sandbox, and on this host: tests of it outside a sandbox run only where it is named. */
const PROGRAMS: Record<ProgramAgent, { inside: string; here: string | undefined }> = {
  codex: { inside: '/opt/halo/agents/codex/bin/codex', here: process.env.HALO_TEST_CODEX },
  claude: { inside: '/opt/halo/agents/claude/claude', here: process.env.HALO_TEST_CLAUDE },
  opencode: { inside: '/opt/halo/agents/opencode/opencode', here: process.env.HALO_TEST_OPENCODE },
  gemini: { inside: '/opt/halo/agents/gemini/bundle/gemini.js', here: process.env.HALO_TEST_GEMINI },
};

const CODEX_CLIENT = new URL('../../docker/sandbox/codex-client.mjs', import.meta.url).pathname;
const GEMINI_SETTINGS = new URL('../../docker/sandbox/gemini-settings.json', import.meta.url).pathname;

export function hasAgent(id: ProgramAgent): boolean {
  const here = PROGRAMS[id].here;
  return here !== undefined && existsSync(here);
}

/** Launches the real program as in a sandbox, but for the places: its home and workspace are folders in `dir`. */
export async function runAgent(
  id: ProgramAgent,
  dir: string,
  {
    modelUrl,
    model,
    api,
    live,
    files = {},
  }: {
    modelUrl: string;
    model: string;
    api: ModelApi;
    live?: true | undefined;
    files?: Record<string, string>;
  },
) {
  const [home, workspace] = [join(dir, 'home'), join(dir, 'workspace')];
  await mkdir(workspace, { recursive: true });
  const intent: AgentIntent = {
    model,
    api,
    modelUrl,
    gatewayToken: 'halo-test-token',
    home,
    options: resolveConfig({ set: [`agent=${id}`, `agents.codex.live=${live === true}`], cwd: '/' }).config
      .agentOptions,
    commandLine: undefined,
    ...(live && { live }),
  };
  const launch = agentAdapter(id).launch(intent);
  const ofUser = Object.entries(files).map(([path, content]) => [join(home, path), content] as const);
  for (const [path, content] of [...Object.entries(launch.files), ...ofUser]) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  // Where Gemini CLI has its settings on a host; in the image they stand beside it.
  await mkdir(join(home, '.gemini'), { recursive: true });
  await copyFile(GEMINI_SETTINGS, join(home, '.gemini', 'settings.json'));
  const { inside = '', here = '' } = PROGRAMS[id];
  const script = launch.script
    .replaceAll(inside, here)
    .replaceAll('/opt/halo/agents/codex/client.mjs', CODEX_CLIENT)
    .replaceAll('/opt/halo/agents/node/bin/node', process.execPath);
  const child = spawn('sh', ['-c', script], {
    cwd: workspace,
    // Claude Code does not work for root outside of a sandbox.
    env: { PATH: process.env.PATH, HOME: home, IS_SANDBOX: '1', ...launch.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const prompt = 'Add a greeting.';
  child.stdin.end(live ? agentAdapter(id).openSession?.(intent)?.begin(prompt) : prompt);
  const exited = new Promise<number | undefined>((resolve) => child.on('close', (code) => resolve(code ?? undefined)));
  const [stdout, stderrTail] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderrTail, exitCode: await exited };
}
