import { chmod } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import Docker from 'dockerode';
import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildSandboxImage, sandboxImageStatus } from '../../src/sandbox/docker/image/image.ts';
import { RECIPE_LABEL } from '../../src/sandbox/docker/image/ensure-image.ts';
import { runSealed } from '../support/docker/image-container.ts';
import { tempDir } from '../support/temp-dir.ts';

const docker = new Docker();
const lines: string[] = [];
const build = (): Promise<string> => buildSandboxImage({ docker, log: (line) => lines.push(line) });

beforeAll(async () => {
  await build();
}, 600_000);

describe('the sandbox image', () => {
  test('is labelled with its recipe, and current once built', async () => {
    const { Config } = await docker.getImage('halo-sandbox').inspect();
    expect(Config.Labels[RECIPE_LABEL]).toMatch(/^[0-9a-f]{64}$/);
    expect(await sandboxImageStatus(docker)).toBe('current');
  });

  test('is not built again while it is current', async () => {
    lines.length = 0;
    const { Id } = await docker.getImage('halo-sandbox').inspect();
    expect(await build()).toBe(Id);
    expect(lines).toEqual([]);
  });

  test('contains what setup, agents and gates need, for any user in a sealed container', async () => {
    const script = [
      'set -e',
      'id -u',
      'node --version',
      'npm --version',
      'git --version',
      'python3 -c "import json; print(json.dumps(1))"',
      '/opt/halo/agents/codex/bin/codex --version',
      '/opt/halo/agents/codex/codex-path/rg --version | head -n 1',
      '/opt/halo/agents/claude/claude --version',
      'ls /opt/halo/agents/codex/codex-resources',
    ].join('\n');
    const { code, out, err } = await runSealed(docker, { script });
    expect(err).toBe('');
    expect(code).toBe(0);
    const said = out.trim().split('\n');
    expect(said[0]).toBe('23456');
    expect(said[1]).toMatch(/^v22\./);
    expect(said[2]).toMatch(/^\d+\./);
    expect(said[3]).toMatch(/^git version 2\./);
    expect(said[5]).toMatch(/^codex-cli \d/);
    expect(said[6]).toMatch(/^ripgrep/);
    expect(said[7]).toMatch(/^2\.\d+\.\d+ \(Claude Code\)/);
    expect(said).not.toContain('voice');
  });

  test('allows any user to write in an empty volume at /workspace', async () => {
    const script = 'git init -q . && git symbolic-ref HEAD && stat -c %a .';
    expect(await runSealed(docker, { script })).toMatchObject({ code: 0, out: 'refs/heads/main\n1777\n' });
  });

  test('allows git to use a repository that belongs to another user', async () => {
    const dir = tempDir('halo-owner');
    await chmod(dir, 0o755);
    await execa('git', ['init', '-q', dir]);
    const { code, err } = await runSealed(docker, { script: 'git -C /repo status -s', binds: [`${dir}:/repo:ro`] });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  test('reaches a socket of the host through `forward`, without any network', async () => {
    const dir = tempDir('halo-forward');
    const server = createServer((_request, response) => response.end('from the host'));
    await new Promise<void>((resolve) => server.listen({ path: join(dir, 'model.sock'), writableAll: true }, resolve));
    await chmod(dir, 0o755);
    try {
      const script = `/opt/halo/bin/forward 4000 /run/halo/model.sock -- node -e '
        fetch("http://127.0.0.1:4000/").then(r => r.text()).then(t => { console.log(t); process.exit(7) })'`;
      const { code, out, err } = await runSealed(docker, { script, binds: [`${dir}:/run/halo:ro`] });
      expect({ code, out, err }).toEqual({ code: 7, out: 'from the host\n', err: '' });
    } finally {
      server.close();
    }
  });
});
