import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { inspectFolder } from '../../../src/api/submit/resolve-submission.ts';
import { readConfig, readConfigAt } from '../../../src/api/repository/repo-config.ts';
import { errorOf } from '../../support/error-of.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: string;
beforeEach(() => void (home = tempDir('halo-home')));

const COMPOSE = 'services:\n  app: { build: . }\n  db:\n    image: postgres:16\n    cap_add: [SYS_NICE]\n';
const TOML = 'gates = ["true"]\nservices = "compose.yaml"\n';

const read = (files: Record<string, string>, profile?: string) => {
  const { root } = newRepository(files);
  return readConfig({ host: hostOf(home), folder: root, profile, set: [] });
};

describe('services = "compose.yaml"', () => {
  test('defines the services of that file', async () => {
    const { config } = await read({ 'halo.toml': TOML, 'compose.yaml': COMPOSE });
    expect(config.services).toEqual({ db: { image: 'postgres:16' } });
  });

  test('of a profile defines those of the profile', async () => {
    const toml = 'gates = ["true"]\n[profiles.slow]\nservices = "ci/compose.yml"\n';
    const files = { 'halo.toml': toml, 'ci/compose.yml': COMPOSE };
    expect((await read(files)).config.services).toEqual({});
    expect((await read(files, 'slow')).config.services).toEqual({ db: { image: 'postgres:16' } });
  });

  test('of a profile matters only to those who use the profile', async () => {
    const files = { 'halo.toml': 'gates = ["true"]\n[profiles.slow]\nservices = "ci/compose.yml"\nsetup = ["true"]\n' };
    expect((await read(files)).config.services).toEqual({});
    expect(await errorOf(() => read(files, 'slow'))).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('The file of services, "ci/compose.yml", is not in the repository.') as string,
    });
  });

  test('is read from the commit where there is no checkout', async () => {
    const repository = newRepository({ 'halo.toml': TOML, 'compose.yaml': COMPOSE });
    repository.write('compose.yaml', 'services: {}\n');
    const commit = repository.git('rev-parse', 'HEAD');
    const file = await readConfigAt(join(repository.root, '.git'), commit, 'x');
    expect(file?.table.services).toEqual({ db: { image: 'postgres:16' } });
  });

  test('makes that file one that a story changes only with an approval, and its notes warnings', async () => {
    const { root } = newRepository({ 'halo.toml': TOML, 'compose.yaml': COMPOSE });
    expect((await inspectFolder(root, undefined)).file).toMatchObject({
      parts: [{ path: 'compose.yaml', setting: 'services' }],
      notes: ['compose.yaml:5: services.db.cap_add: is not used: a service has no capabilities.'],
    });
  });
});

describe('CONFIG_INVALID names the file and the line', () => {
  test.each([
    [
      'what halo does not support',
      `${COMPOSE}    privileged: true\n`,
      /^compose\.yaml:6: services\.db\.privileged: is not supported/,
    ],
    [
      'what is not valid in halo',
      `${COMPOSE}    cpus: 5000\n`,
      /^compose\.yaml:3: services\.db\.cpus: must be a number from/,
    ],
    [
      'an image that the operator has not allowed',
      COMPOSE.replace('postgres:16', 'acme/db:1'),
      /^compose\.yaml:3: services\.db.*acme\/db:1/,
    ],
    ['two services with one port', `${COMPOSE}  other: { image: "postgres:15" }\n`, /port/],
  ])('%s', async (_, compose, message) => {
    expect(await errorOf(() => read({ 'halo.toml': TOML, 'compose.yaml': compose }))).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });

  test.each([
    ['services = ""', 'is not a path in the repository'],
    ['services = "/etc/passwd"', 'is not a path in the repository'],
    ['services = "../compose.yaml"', 'is not a path in the repository'],
    ['services = "none.yaml"', 'The file of services, "none.yaml", is not in the repository'],
  ])('%s', async (line, says) => {
    const error = await errorOf(() => read({ 'halo.toml': `${line}\n` }));
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(says) as string });
  });

  test('a link out of the repository', async () => {
    const { root } = newRepository({ 'halo.toml': TOML });
    const outside = join(tempDir('halo-outside'), 'compose.yaml');
    writeFileSync(outside, COMPOSE);
    symlinkSync(outside, join(root, 'compose.yaml'));
    const error = await errorOf(() => readConfig({ host: hostOf(home), folder: root, profile: undefined, set: [] }));
    expect(error).toMatchObject({
      message: `${join(root, 'compose.yaml')} is a link that leads out of the repository.`,
    });
  });
});
