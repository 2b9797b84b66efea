import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSession } from '../../src/agents/adapter.ts';
import { agentAdapter } from '../../src/agents/registry.ts';
import { tempDir } from '../support/temp-dir.ts';

const FIRST = '01a22edf-46bf-79d2-a115-2de6ab587456';
const LATER = '01a22ee0-d560-7490-bf02-bfedfd9080b4';

/** What the shell finds in a folder with these files. */
function find(files: string[], pattern: string, order?: string): string {
  const folder = tempDir('halo-session');
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), 'x');
  }
  const script = `${findSession(`${folder}/${pattern}`, order)}printf %s "\${session:+--resume $session}"`;
  return spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout;
}

describe('the session in the folder that a story keeps', () => {
  const rollout = (day: string, id: string) => `2026/12/${day}/rollout-2026-12-${day}T00-00-00-${id}.jsonl`;
  const PATTERN = '*/*/*/rollout-*.jsonl';

  it('is found by its id, and is the first one of Codex, because later ones are of subagents', () => {
    expect(find([rollout('02', LATER), rollout('01', FIRST)], PATTERN)).toBe(`--resume ${FIRST}`);
    expect(find([], PATTERN)).toBe('');
  });

  it.each(['$(touch planted)', '--last', `${FIRST} --flag`, '../..', `x;${FIRST.slice(1)}`])(
    'is none if the agent left a file with another name: %s',
    (name) => {
      expect(find([`a/b/c/rollout-${name.replaceAll('/', '_')}.jsonl`], PATTERN)).toBe('');
    },
  );
});

const intent = (more: object) => ({
  model: 'some-model',
  api: 'openai' as const,
  modelUrl: 'http://127.0.0.1:4000/v1',
  gatewayToken: 'halo-token',
  home: '/home/agent',
  commandLine: 'some-agent',
  options: {},
  ...more,
});

describe('the launch with a session', () => {
  it.each([
    ['codex', 'exec ${session:+resume $session} --json'],
    ['claude', '-p ${session:+--resume $session} --output-format'],
    ['opencode', '--title story $session -m'],
    ['qwen', "client.mjs --session /halo/session 'some-agent'"],
  ] as const)('of %s continues it only if there is one', (agent, command) => {
    const { script, sessionDir } = agentAdapter(agent).launch(intent({ sessionDir: '/halo/session' }));
    expect(script).toContain(command);
    expect(sessionDir).toBe('/halo/session');
    const without = agentAdapter(agent).launch(intent({}));
    expect(without.script).not.toContain('session ');
    expect(without).not.toHaveProperty('sessionDir');
  });

  it('of the app server of Codex names the model, because the session has one of its own', () => {
    const live = intent({ sessionDir: '/halo/session', live: true, options: { live: true } });
    expect(agentAdapter('codex').launch(live).script).toContain("${session:+$session 'some-model'}");
  });

  it('of an agent of ACP keeps the folders of its sessions, also those that it makes itself', () => {
    const [home, sessionDir] = [tempDir('halo-home'), tempDir('halo-session')];
    const { script } = agentAdapter('qwen').launch(intent({ home, sessionDir }));
    const links = script.split('\n').filter((line) => line.startsWith('mkdir'));
    expect(spawnSync('sh', ['-ec', links.join('\n')]).status).toBe(0);
    expect(realpathSync(join(home, '.codex/sessions'))).toBe(realpathSync(join(sessionDir, 'codex-sessions')));
    writeFileSync(join(home, '.local/share/opencode/opencode.db'), 'x');
    expect(realpathSync(join(home, '.local/share/opencode/opencode.db'))).toBe(
      join(realpathSync(sessionDir), 'opencode-opencode.db'),
    );
    // A link that the agent left in place of a folder: it stays within this sandbox.
    symlinkSync('/etc', join(sessionDir, 'planted'));
    expect(spawnSync('sh', ['-ec', links.join('\n').replaceAll(home, tempDir('halo-home'))]).status).toBe(0);
  });
});
