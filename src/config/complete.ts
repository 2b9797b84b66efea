import type { Config } from './config.ts';
import { resolveConfig } from './resolve.ts';

/** The configuration that a run was submitted with; what the version of halo that wrote it did not know yet has its default. */
export function completeConfig(stored: unknown): Config {
  const config = stored as Config;
  const { retry, breaker } = resolveConfig({
    home: undefined,
    repo: undefined,
    profile: undefined,
    env: {},
    set: [],
    flags: { agent: undefined },
    cwd: '/',
  }).config;
  return { ...config, retry: { ...retry, ...config.retry }, breaker: { ...breaker, ...config.breaker } };
}
