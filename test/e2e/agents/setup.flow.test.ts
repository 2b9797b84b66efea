import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let repository: TestRepository;
/** Where npm gets its packages on this machine, as `[network] allow` wants it. */
const registry = new URL(execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim());
const packages = `${registry.hostname}:${registry.port || (registry.protocol === 'https:' ? '443' : '80')}`;
/** It may be a company's own, with an address that is not public. */
const allowed = [`network.allow=["${packages}"]`, `network.private=["${packages}"]`];

beforeAll(() => {
  repository = newRepository({
    '.gitignore': 'node_modules/\n',
    '.npmrc': `registry=${registry.href}\nomit-lockfile-registry-resolved=true\n`,
    'package.json': JSON.stringify({ name: 'with-dependency', private: true, dependencies: { 'is-number': '7.0.0' } }),
  });
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: repository.root, stdio: 'pipe' });
  repository.commit('lock');
});

const uses = `node -e 'process.exit(require("is-number")(process.argv[1]) ? 0 : 1)' 5`;
const agent = `${uses} || exit 1; echo x > x; ${OK}`;

describe('setup', () => {
  it('installs once what agent and gates need, from an allowed host only', async ({ halo }) => {
    const settings = scripted(agent, [uses], ['setup=["npm ci"]', ...allowed]);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
    const journal = halo.readFile(state.runId, 'journal.jsonl').trim().split('\n');
    const setups = journal
      .map((line) => JSON.parse(line) as { type: string; phase?: string })
      .filter(({ type }) => type === 'setup.ended');
    expect(setups.map(({ phase }) => phase)).toEqual(['setup']);
    expect(repository.git('ls-tree', '-r', '--name-only', `halo/${state.runId}`)).not.toContain('node_modules');
  });

  it('leaves the agent and the gates without a network', async ({ halo }) => {
    const reach = `node -e 'fetch("${registry.href}").then(() => process.exit(0), () => process.exit(7))'`;
    const settings = scripted(
      `${reach}; [ $? = 7 ] && echo x > x; ${OK}`,
      [`${reach}; [ $? = 7 ]`],
      ['setup=["true"]', ...allowed],
    );
    expect(await halo.run(repository.root, [{ id: 'A' }], settings)).toMatchObject({ stopReason: 'SUCCESS' });
  });

  it('reports the refused host, and how to allow it', async ({ halo }) => {
    const settings = scripted(
      agent,
      ['true'],
      ['setup=["npm ci --fetch-retries=0"]', 'network.allow=["packages.example.com:443"]'],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED' });
    expect(state.detail).toContain(packages);
    expect(state.detail).toContain('[network] allow');
  });

  it('has no network if nothing is allowed, fails at the first name and reports what is missing', async ({ halo }) => {
    const setup = 'ls /sys/class/net; env; npm ci --registry=http://packages.example.com/';
    const state = await halo.run(
      repository.root,
      [{ id: 'A' }],
      scripted(agent, ['true'], [`setup=["${setup}"]`, 'limits.idle="20s"', 'retry.environment.retries=2']),
    );
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ attempts: 1 }] });
    expect(state.detail).toContain('nothing is reachable from setup; allow it with [network] registries = ["npm"]');
    const log = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/setup/setup-1.log`);
    expect(log.startsWith('lo\n')).toBe(true);
    expect(log).not.toMatch(/proxy/i);
  });
});
