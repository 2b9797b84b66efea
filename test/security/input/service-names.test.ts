import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';

const resolve = (table: string) =>
  resolveConfig({ repo: parseConfigFile('/x/halo.toml', `gates = []\n${table}`), env: {}, cwd: '/' });

describe('incident service-names: a service with a name or port of halo', () => {
  it.each([
    ['[services.localhost]\nimage = "redis:7"', 'is a name that sandboxes have already'],
    ['[services.db]\nimage = "redis:7"\naliases = ["localhost"]', 'a name that sandboxes have already'],
    ['[services.db]\nimage = "redis:7"\naliases = ["127.0.0.1"]', 'must have a letter'],
    ['[services.db]\nimage = "redis:7"\naliases = ["a b"]', 'must be a name of small letters'],
    ['[services.db]\nimage = "redis:7"\nport = 4000', 'must not be 4000, which is halo’s own in sandboxes'],
    ['[services.db]\nimage = "redis:7"\nport = 4080', 'must not be 4080, which is halo’s own in sandboxes'],
    ['[services.db]\nimage = "redis:7"\ndata = "/etc"', 'must be an absolute path in the container'],
    ['[services.db]\nimage = "redis:7"\ndata = "/data/../etc"', 'must be an absolute path in the container'],
    ['[services.db]\nimage = "redis:7"\ndata = "/opt/halo/bin"', 'must be an absolute path in the container'],
  ])('is refused: %j', (table, why) => {
    expect(() => resolve(table)).toThrow(why);
  });
});
