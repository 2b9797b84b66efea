import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';

const at = (text: string) => parseConfigFile('/x/halo.toml', text);
const resolve = (repository: string, home = '') =>
  resolveConfig({ home: at(home), repo: at(`gates = []\n${repository}`), env: {}, cwd: '/' }).config.services;

describe('the image of a service in the file of a repository', () => {
  it.each(['postgres:16', 'mariadb:11', 'redis:7', 'halo-sandbox'])('may be %s', (image) => {
    expect(resolve(`[services.db]\nimage = "${image}"\nport = 1`)).toMatchObject({ db: { image } });
  });

  it('is not any image of the machine, unless its owner allows it', () => {
    const own = '[services.db]\nimage = "billing-dump"\nport = 5432';
    expect(() => resolve(own)).toThrow(
      '/x/halo.toml:2: services.db: the file of a repository may not choose the image "billing-dump" of this machine',
    );
    expect(resolve(own, '[sandbox]\nservice_images = ["billing-*"]')).toMatchObject({ db: { image: 'billing-dump' } });
  });

  it('is refused with what its owner has to write to keep the other allowed images', () => {
    const own = '[services.db]\nimage = "postgis/postgis:16-3.4"';
    expect(() => resolve(own)).toThrow(
      'write service_images = ["postgres:*", "mariadb:*", "mysql:*", "redis:*", "postgis/postgis:16-3.4"] below [sandbox] in config.toml of HALO_HOME',
    );
    expect(() => resolve(own, '[sandbox]\nservice_images = ["acme/*"]')).toThrow(
      'add it to service_images below [sandbox] in config.toml of HALO_HOME',
    );
  });

  it('is not one of a registry with the name of an allowed image', () => {
    const own = '[services.db]\nimage = "postgres:5000/billing-dump"\nport = 5432';
    expect(() => resolve(own)).toThrow('may not choose the image "postgres:5000/billing-dump"');
  });

  it('has a port of its own', () => {
    expect(() => resolve('[services.a]\nimage = "postgres:16"\n[services.b]\nimage = "postgres:15"')).toThrow(
      '/x/halo.toml:4: services.b.port: is 5432, which is also a port of services.a: two services cannot have one port',
    );
  });
});

describe('a mistake in a service is named with its line', () => {
  it.each([
    ['imagee = "postgres:16"', '/x/halo.toml:3: services.db: unknown key "imagee"; did you mean "image"?'],
    ['image = "postgres:16"\nredy = "true"', '/x/halo.toml:4: services.db: unknown key "redy"; did you mean "ready"?'],
    ['image = "postgres:16"\nport = "5432"', '/x/halo.toml:4: services.db.port: must be a whole number'],
    ['port = 5432', '/x/halo.toml:2: services.db.image: must be a string'],
  ])('%j', (lines, message) => {
    expect(() => resolve(`[services.db]\n${lines}`)).toThrow(message);
  });
});
