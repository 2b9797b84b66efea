import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { openRegistryCache } from '../../../src/gateway/registry/registry-cache.ts';
import { identifyAttempt } from '../../../src/worker/attempt/attempt-identity.ts';
import { planCleanSteps, type StepContext } from '../../../src/worker/workspace/step-plan.ts';

const { config } = resolveConfig({ cwd: '/' });
const identity = identifyAttempt({ runId: 'r', story: 'US-001', storyKey: 'us-001', attempt: 1, epoch: 1 });
const commands = { setup: ['npm ci'], gates: ['npm test', 'npm run lint'] };

interface Settings {
  network?: Partial<typeof config.network>;
  channel?: 'socket' | 'stdio';
  caFile?: string;
  env?: Record<string, string>;
}

function plan({ network, channel = 'socket', caFile, env = {} }: Settings = {}) {
  const context: StepContext = {
    config: { ...config, ...commands, env, network: { ...config.network, registries: [], allow: [], ...network } },
    identity,
    worker: {
      home: '/nowhere',
      env: {},
      caFile,
      findRoutes: () => Promise.reject(new Error('not called')),
      readCredentials: () => Promise.resolve([]),
      registryCache: openRegistryCache('/nowhere'),
    },
    resources: { channel },
  };
  return planCleanSteps(context);
}

describe('planCleanSteps', () => {
  it('runs setup, then each gate after its tree is restored', () => {
    expect(plan().map(({ phase, judges }) => [phase, judges])).toEqual([
      ['setup', undefined],
      ['gate', true],
      ['gate', true],
    ]);
  });

  it('gives setup a network only if a host or a registry is allowed, and gates none', () => {
    const reaches = (settings: Settings) => plan(settings).map(({ openEgress }) => openEgress !== undefined);
    expect(reaches({})).toEqual([false, false, false]);
    expect(reaches({ network: { allow: ['example.org:443'] } })).toEqual([true, false, false]);
    expect(reaches({ network: { registries: ['npm'] } })).toEqual([true, false, false]);
  });

  it('configures a proxy for programs, for registries only over TLS', () => {
    const [hosts] = plan({ network: { allow: ['example.org:443'] } });
    expect(hosts?.env).toMatchObject({ HTTPS_PROXY: 'http://127.0.0.1:4080', no_proxy: '127.0.0.1,localhost' });
    expect(hosts?.env).toMatchObject({
      JAVA_TOOL_OPTIONS:
        '-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=4080 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=4080',
    });
    const [registries] = plan({ network: { registries: ['npm'] } });
    expect(registries?.env).toMatchObject({ HTTPS_PROXY: 'http://127.0.0.1:4080', SSL_CERT_FILE: '/run/halo/ca.pem' });
    expect(registries?.env).not.toHaveProperty('HTTP_PROXY');
  });

  it.each([
    ['socket', '/run/halo/ca.pem'],
    ['stdio', '/home/agent/.halo-ca.pem'],
  ] as const)('configures the certificates for programs over the channel %s', (channel, path) => {
    const [setup] = plan({ channel, caFile: '/etc/ca.pem', network: { registries: ['npm'] } });
    expect(setup?.env).toMatchObject({ NODE_EXTRA_CA_CERTS: path, GIT_SSL_CAINFO: path, PIP_CERT: path });
  });

  it('makes commands without network fail immediately, unless the user decides otherwise', () => {
    const [setup, gate] = plan({ env: { PIP_RETRIES: '3' } });
    expect(setup?.env).toMatchObject({ npm_config_fetch_retries: '0', PIP_RETRIES: '3' });
    expect(gate?.env).toEqual(setup?.env);
  });
});
