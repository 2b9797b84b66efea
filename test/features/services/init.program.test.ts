import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { initConfig, type InitProposal } from '../../../src/api/repository/init-config.ts';
import { readConfig } from '../../../src/api/repository/repo-config.ts';
import type { composeServices } from '../../../src/cli/compose.ts';
import { hostOf } from '../../support/halo/host.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

let home: string;
beforeEach(() => void (home = tempDir('halo-home')));

async function write(files: Record<string, string>, choose?: (proposal: InitProposal) => Promise<InitProposal>) {
  const { root } = newRepository(files);
  const host = hostOf(home);
  const made = await initConfig({
    host,
    folder: root,
    force: false,
    versionsIn: () => Promise.resolve(new Map([['npm', '10']])),
    ...(choose && { choose }),
  });
  return { ...made, root, text: readFileSync(made.path, 'utf8') };
}

async function init(...given: Parameters<typeof write>) {
  const made = await write(...given);
  const { config } = await readConfig({ host: hostOf(home), folder: made.root, profile: undefined, set: [] });
  return { ...made, config };
}

const PROJECT = {
  'package.json': '{"scripts": {"test": "x"}, "dependencies": {"pg": "8", "ioredis": "5"}}',
  'package-lock.json': '{}',
  '.gitignore': 'node_modules\n',
};
const WORKFLOW = `
on: push
jobs:
  test:
    services: { db: { image: "postgres:16", env: { POSTGRES_PASSWORD: "a \\"b\\"" }, ports: ["5432:5432"] } }
    env: { DATABASE_URL: "postgres://postgres@localhost/postgres" }
    steps: [{ run: npm test }]
`;

describe('halo init', () => {
  test('writes the services of a workflow with the variables of its tests, and a hint as a comment', async () => {
    const { config, text, found, warnings } = await init({ ...PROJECT, '.github/workflows/ci.yml': WORKFLOW });
    expect(config.services).toEqual({ db: { image: 'postgres:16', env: { POSTGRES_PASSWORD: 'a "b"' } } });
    expect(config.env).toMatchObject({ DATABASE_URL: 'postgres://postgres@localhost/postgres' });
    expect(text).toContain(
      '# detected: .github/workflows/ci.yml starts postgres:16\n[services.db]\nimage = "postgres:16"\n',
    );
    expect(text).toContain(
      '# detected: package.json has ioredis. If the tests need it, remove the # here:\n# [services.redis]\n',
    );
    expect(found.map(({ name, isHint }) => [name, isHint])).toEqual([
      ['services.db', undefined],
      ['services.redis', true],
    ]);
    expect(warnings).toEqual([]);
  });

  test('writes how data could be prepared as a comment, which is right without its #', async () => {
    const files = { ...PROJECT, '.github/workflows/ci.yml': WORKFLOW, 'prisma/schema.prisma': '' };
    const manifest = '{"scripts": {"test": "x"}, "dependencies": {"@prisma/client": "6"}}';
    const { root, text, path } = await init({ ...files, 'package.json': manifest });
    expect(text).toContain(
      '# prisma/schema.prisma is there: unless the gates run it, it can run once for all of them:\n# prepare = ',
    );
    writeFileSync(path, text.replaceAll('# prepare', 'prepare'));
    const { config } = await readConfig({ host: hostOf(home), folder: root, profile: undefined, set: [] });
    expect(config.services.db).toMatchObject({ prepare: ['npx prisma migrate deploy'], prepareFiles: ['prisma/**'] });
  });

  test('writes an image that is not allowed here, and how to allow it', async () => {
    const workflow = WORKFLOW.replace('postgres:16', 'postgis/postgis:16-3.4');
    const { text, warnings } = await write({ ...PROJECT, '.github/workflows/ci.yml': workflow });
    expect(text).toContain('image = "postgis/postgis:16-3.4"\n');
    expect(warnings).toEqual([
      expect.stringContaining(
        'write service_images = ["postgres:*", "mariadb:*", "mysql:*", "redis:*", "postgis/postgis:16-3.4"] below [sandbox] in config.toml',
      ),
    ]);
  });

  test('writes the name of a compose file', async () => {
    const { config, text } = await init({ ...PROJECT, 'compose.yml': 'services:\n  db: { image: "postgres:17" }\n' });
    expect(text).toContain('\n# detected: compose.yml has them\nservices = "compose.yml"\n');
    expect(config.services).toEqual({ db: { image: 'postgres:17' } });
  });

  test('writes none that the user does not want', async () => {
    const choose = (proposal: InitProposal) => Promise.resolve({ ...proposal, useFound: false });
    const { config, text } = await init({ ...PROJECT, '.github/workflows/ci.yml': WORKFLOW }, choose);
    expect(config.services).toEqual({});
    expect(text).not.toContain('services');
  });

  test('says what it proposes and why', async () => {
    const { root } = newRepository({ ...PROJECT, '.github/workflows/ci.yml': WORKFLOW });
    const services = {
      initConfig: (given: Parameters<ReturnType<typeof composeServices>['initConfig']>[0]) =>
        initConfig({ ...given, host: hostOf(home), versionsIn: () => Promise.resolve(new Map([['npm', '10']])) }),
    };
    const { stdout } = await runCli(['init', '--yes'], { operations: openMemory(), services, cwd: root });
    expect(stdout).toContain('service  db: postgres:16 (.github/workflows/ci.yml starts postgres:16)\n');
    expect(stdout).toContain('service  redis: redis:7 (package.json has ioredis), as a comment\n');
  });
});
