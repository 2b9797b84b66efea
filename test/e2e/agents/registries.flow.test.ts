import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { summarizeNetwork, type NetworkReport } from '../../../src/core/journal/network-report.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository({
    '.gitignore': 'node_modules/\n',
    'package.json': JSON.stringify({ name: 'with-dependency', private: true, dependencies: { 'is-number': '7.0.0' } }),
  });
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: repository.root, stdio: 'pipe' });
  repository.commit('lock');
});
afterAll(async () => {
  await halo.close();
});

const uses = (name: string) => `node -e 'process.exit(typeof require("${name}") === "function" ? 0 : 1)'`;

async function networkOf(runId: string): Promise<NetworkReport> {
  const events: JournalEvent[] = [];
  for await (const { event } of await halo.operations.followEvents({ runId, after: 0, follow: false }))
    events.push(event);
  return summarizeNetwork(events, undefined);
}

describe('the mirror of npm', () => {
  it('serves setup with the real client, as the only connection', async () => {
    const reach = `node -e 'fetch("https://packages.example.com/").then(() => process.exit(1), () => process.exit(0))'`;
    const settings = scripted(
      `${uses('is-number')} && echo x > x; ${OK}`,
      [uses('is-number')],
      [`setup=${JSON.stringify(['npm ci', reach])}`, 'network.registries=["npm"]', 'tests.baseline="auto"'],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
    const { rows, proposal } = await networkOf(state.runId);
    const asked = { story: 'A', route: 'registry', method: 'GET', target: 'npm:is-number', outcome: 'served' };
    // The base, with which the gates are compared, may be set up at any time.
    const ofStory = rows.filter(({ phase }) => phase !== 'baseline');
    expect(ofStory).toMatchObject([
      { ...asked, phase: 'setup' },
      { ...asked, phase: 'gates' },
    ]);
    expect(rows[0]?.bytes).toBeGreaterThan(1000);
    expect(proposal).toEqual({ allow: [], registries: ['npm'], agentRegistries: [] });
  });

  it('serves the agent if explicitly allowed, without a trace in the lockfile', async () => {
    const agent = `npm install is-odd@3.0.1 || exit 1; ${uses('is-odd')} && ${OK}`;
    const settings = scripted(agent, ['true'], ['network.agent_registries=["npm"]']);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
    const lock = repository.git('show', `halo/${state.runId}:package-lock.json`);
    expect(lock).toContain('node_modules/is-odd');
    expect(lock).not.toContain('127.0.0.1');
    const { proposal } = await networkOf(state.runId);
    expect(proposal).toEqual({ allow: [], registries: [], agentRegistries: ['npm'] });
  });

  // Every method is in test/gateway/registry.
  it('publishes nothing, and reports all refused requests', skipFor(belowFull()), async () => {
    const publish = [
      'set -e',
      'mkdir -p /tmp/p && cd /tmp/p',
      `echo '{"name":"halo-must-not-publish","version":"1.0.0"}' > package.json`,
      `npm config set --location=user "$(echo "$npm_config_registry" | sed 's/^http://')":_authToken=x`,
      'npm publish --fetch-retries=0 2>&1 | tee log || :',
      'grep -q 405 log',
    ].join('\n');
    const settings = scripted(
      `echo x > x; ${OK}`,
      ['true'],
      [`setup=${JSON.stringify([publish])}`, 'network.registries=["npm"]'],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
    const { rows } = await networkOf(state.runId);
    expect(rows.find(({ outcome, method }) => outcome === 'refused' && method === 'PUT')).toMatchObject({
      target: 'npm:halo-must-not-publish',
      status: 405,
      reason: 'network: PUT refused; registries are read-only',
    });
  });
});

const hasApt = existsSync('/etc/apt');

describe('the mirror of Debian', skipFor(!hasApt && 'needs /etc/apt'), () => {
  it('serves apt with its ordinary configuration', async () => {
    const setup =
      'apt-get update && apt-get download hello && dpkg -x hello_*.deb /tmp/h && /tmp/h/usr/bin/hello && rm *.deb';
    const settings = scripted(
      `echo x > x; ${OK}`,
      [],
      [`setup=${JSON.stringify([setup])}`, 'network.registries=["debian"]'],
    );
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.detail).toBe('1 of 1 stories passed');
    const { rows, proposal } = await networkOf(state.runId);
    expect(rows.every(({ outcome, target }) => outcome === 'served' && target.startsWith('debian:'))).toBe(true);
    expect(proposal.registries).toEqual(['debian']);
  });
});
