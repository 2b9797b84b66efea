import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byAcp, NODE, OPENCODE, opencodeConfig } from '../../support/agents/acp-commands.ts';
import { openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import { tellDuring } from '../../support/halo/tell-during.ts';
import type { Lane } from '../../support/model/model-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const IMAGE = 'halo-test-live-acp';
const PACKAGES = [
  '@agentclientprotocol/claude-agent-acp@0.101.0',
  '@agentclientprotocol/codex-acp@2.6.0',
  '@kilocode/cli-linux-x64@7.7.9',
];

const MODULES = '/opt/acp/node_modules';
const CODEX_CONFIG = `model_provider = "halo"
web_search = "disabled"
[model_providers.halo]
name = "halo"
base_url = "URL"
env_key = "HALO_MODEL_KEY"
wire_api = "responses"`;

/** The programs that halo's image has stand in for those that the adapters bring. */
const AGENTS: [name: string, api: 'openai' | 'anthropic', command: string][] = [
  [
    'claude-agent-acp, by steering',
    'anthropic',
    `CLAUDE_CODE_EXECUTABLE=/opt/halo/agents/claude/claude exec ${NODE} ${MODULES}/@agentclientprotocol/claude-agent-acp/dist/index.js`,
  ],
  [
    'codex-acp, by steering',
    'openai',
    `mkdir -p ~/.codex; echo '${CODEX_CONFIG}' | sed "s|URL|$HALO_MODEL_URL|" > ~/.codex/config.toml; CODEX_PATH=/opt/halo/agents/codex/bin/codex exec ${NODE} ${MODULES}/@agentclientprotocol/codex-acp/dist/index.js`,
  ],
  ['opencode, by a second prompt', 'anthropic', OPENCODE],
  [
    'kilo, by a second prompt',
    'anthropic',
    `${opencodeConfig('KILO_CONFIG_CONTENT')}; exec ${MODULES}/@kilocode/cli-linux-x64/bin/kilo acp`,
  ],
];

const MESSAGE = 'Greet in Italian.';
const OK = { json: { status: 'ok', summary: 'Added the greeting.' } };
/** The model works until it has the message; only a message in the running turn ends that. */
const SCRIPT: Lane[] = [
  { match: 'title generator', turns: Array.from({ length: 9 }, () => ({ say: 'A greeting' })) },
  {
    turns: [
      { run: 'sleep 0.5; ls', until: MESSAGE },
      { write: 'greeting.txt', content: 'ciao\n', expect: [MESSAGE] },
      ...[OK, OK, OK],
    ],
  },
];

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-test-live-acp-71c3');
  const context = tempDir('halo-live-acp');
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: context, stdio: 'pipe' });
  writeFileSync(join(context, 'package.json'), '{"private":true}');
  run('npm', ...['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--force'], ...PACKAGES);
  writeFileSync(join(context, 'Dockerfile'), `FROM halo-sandbox\nCOPY node_modules ${MODULES}\n`);
  run('docker', 'build', '--quiet', '--network=none', '--tag', IMAGE, '.');
}, 600_000);
afterAll(async () => {
  await halo.close();
  execFileSync('docker', ['image', 'rm', '--force', IMAGE]);
});

describe('a message to an agent of the Agent Client Protocol that works', () => {
  it.each(AGENTS)('is in a request of its turn, once: %s', async (_name, api, command) => {
    const settings = [...byAcp(command, api), `image="${IMAGE}"`];
    const { state, route, server, show } = await tellDuring(halo, MESSAGE, { script: SCRIPT, settings });
    expect(route).toBe('live');
    expect(state).toMatchObject({
      stopReason: 'SUCCESS',
      stories: [{ attempts: 1, messages: [{ text: MESSAGE, shown: { attempt: 1, how: 'live' } }] }],
    });
    expect(show('greeting.txt')).toBe('ciao');
    const times = server.requests.map(({ body }) => body.split(MESSAGE).length - 1);
    expect(times.filter((count) => count > 0).length).toBeGreaterThan(1);
    expect(Math.max(...times)).toBe(1);
  });
});
