import { describe, expect, test } from 'vitest';
import { guessServices } from '../../../src/features/services/config/guess/guess-services.ts';

const guess = (files: Record<string, string>) => {
  const entries = Object.entries(files);
  const isWorkflow = ([path]: [string, string]) => path.startsWith('.github/workflows/');
  return guessServices({
    files: new Map(entries.filter((entry) => !isWorkflow(entry))),
    workflows: new Map(entries.filter(isWorkflow)),
  });
};

const WORKFLOW = `
on: [push]
env: { NODE_ENV: test }
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: { matrix: { pg: [15, 16] } }
    services:
      postgres:
        image: postgres:\${{ matrix.pg }}
        env: { POSTGRES_USER: shop, POSTGRES_PASSWORD: secret }
        ports: ["5432:5432"]
        options: >-
          --health-cmd "pg_isready -U shop" --health-interval 5s
      search:
        image: getmeili/meilisearch:v1
        ports: [7700]
        options: --health-cmd="curl -f localhost:7700/health"
    env:
      DATABASE_URL: postgres://shop:secret@localhost:\${{ job.services.postgres.ports[5432] }}/shop
    steps:
      - uses: actions/checkout@v4
        env: { DB_UNUSED: x }
      - run: npm test
        env: { SEARCH: "http://localhost:7700", TOKEN: "\${{ secrets.TOKEN }}", COLOR: always }
  windows:
    runs-on: windows-latest
    services: { redis: { image: redis } }
`;

test('services of a workflow, with the variables that lead its tests to them', () => {
  expect(guess({ '.github/workflows/test.yml': WORKFLOW })).toEqual({
    tables: [
      {
        name: 'postgres',
        why: '.github/workflows/test.yml starts postgres:16',
        values: { image: 'postgres:16', env: { POSTGRES_USER: 'shop', POSTGRES_PASSWORD: 'secret' } },
      },
      {
        name: 'search',
        why: '.github/workflows/test.yml starts getmeili/meilisearch:v1',
        values: { image: 'getmeili/meilisearch:v1', ready: 'curl -f localhost:7700/health', ports: [7700] },
      },
    ],
    env: { DATABASE_URL: 'postgres://shop:secret@localhost:5432/shop', SEARCH: 'http://localhost:7700' },
    envFrom: ['.github/workflows/test.yml'],
    notes: [],
  });
});

test('what a workflow does not write out is named', () => {
  const text = `
on: push
jobs:
  a:
    services:
      db: { image: "postgres:15", env: { POSTGRES_PASSWORD: "\${{ secrets.DB }}" }, ports: ["5433:5432"] }
      other: { image: "\${{ inputs.image }}" }
      odd: { image: acme/odd }
    steps: [{ run: make }]
`;
  const { tables, notes } = guess({ '.github/workflows/ci.yml': text });
  expect(tables.map(({ values }) => values)).toEqual([
    { image: 'postgres:15', env: { POSTGRES_PASSWORD: 'postgres' } },
  ]);
  expect(notes).toEqual([
    '.github/workflows/ci.yml: POSTGRES_PASSWORD of the service db has no value in the file; set it in halo.toml',
    '.github/workflows/ci.yml: the image of the service other is not written out, and it is left out',
    '.github/workflows/ci.yml: 5433 is not used: tests reach db at port 5432',
    '.github/workflows/ci.yml: the service odd is left out, because its port is not in the file',
  ]);
});

test('services of GitLab CI get the variables of their jobs', () => {
  const text = `
variables: { POSTGRES_DB: shop, POSTGRES_PASSWORD: secret, DEPLOY: "1" }
unit:
  services: [postgres:16, { name: "redis:7", alias: cache }]
  variables: { DATABASE_URL: "postgres://postgres:$POSTGRES_PASSWORD@postgres/\${POSTGRES_DB}", CI_X: "$CI_TOKEN" }
  script: [npm test]
`;
  expect(guess({ '.gitlab-ci.yml': text })).toMatchObject({
    tables: [
      { name: 'postgres', values: { image: 'postgres:16', env: { POSTGRES_DB: 'shop', POSTGRES_PASSWORD: 'secret' } } },
      { name: 'cache', values: { image: 'redis:7' } },
    ],
    env: { DATABASE_URL: 'postgres://postgres:secret@postgres/shop', POSTGRES_DB: 'shop', POSTGRES_PASSWORD: 'secret' },
  });
});

describe('a compose file', () => {
  const COMPOSE = `
services:
  app: { build: ., environment: { DATABASE_URL: "mysql://root:x@db/shop", COLOR: always } }
  db: { image: "mariadb:11", environment: { MARIADB_ROOT_PASSWORD: x } }
`;
  const PACKAGES = { 'package.json': '{"dependencies": {"mysql2": "3"}}' };

  test('is used as it is, with the variables of the project in it', () => {
    expect(guess({ 'compose.yaml': COMPOSE, ...PACKAGES })).toEqual({
      tables: [],
      compose: { path: 'compose.yaml', names: ['db'] },
      env: { DATABASE_URL: 'mysql://root:x@db/shop' },
      envFrom: ['compose.yaml'],
      notes: [],
    });
  });

  test('does not count beside services of CI', () => {
    expect(guess({ 'compose.yaml': COMPOSE, '.github/workflows/test.yml': WORKFLOW }).compose).toBeUndefined();
  });

  test('that halo cannot use is named with the line', () => {
    expect(guess({ 'docker-compose.yml': 'services:\n  db:\n    image: x\n    privileged: true\n' }).notes).toEqual([
      'docker-compose.yml is not used for services: line 4: services.db.privileged: is not supported: every service is sealed in the same way',
    ]);
  });
});

describe('a client of a database is a hint', () => {
  test.each([
    ['package.json', '{"dependencies": {"pg": "8"}}', 'postgres', 'package.json has pg'],
    ['package.json', '{"devDependencies": {"ioredis": "5"}}', 'redis', 'package.json has ioredis'],
    ['package.json', '{"dependencies": {"mariadb": "3"}}', 'mariadb', 'package.json has mariadb'],
    ['requirements.txt', 'flask==3\npsycopg[binary]>=3\n', 'postgres', 'requirements.txt has psycopg'],
    ['pyproject.toml', '[project]\ndependencies = [\n  "PyMySQL~=1.1",\n]\n', 'mysql', 'pyproject.toml has pymysql'],
    ['pyproject.toml', '[tool.poetry.dependencies]\nredis = "^5"\n', 'redis', 'pyproject.toml has redis'],
    ['Gemfile', "gem 'pg', '~> 1'\n", 'postgres', 'Gemfile has pg'],
    ['go.mod', 'require github.com/jackc/pgx/v5 v5.5.0\n', 'postgres', 'go.mod has github.com/jackc/pgx'],
    [
      'prisma/schema.prisma',
      'datasource db {\n  provider = "mysql"\n}\n',
      'mysql',
      'prisma/schema.prisma has the provider mysql',
    ],
  ])('%s: %j', (file, text, name, why) => {
    expect(guess({ [file]: text }).tables).toMatchObject([{ name, why, isOff: true }]);
  });

  test.each([
    ['package.json', '{"dependencies": {"pg-formatter": "1"}}'],
    ['package.json', 'not JSON'],
    ['requirements.txt', 'redisearch-utils==1\nmy-psycopg2\n'],
    ['go.mod', 'module github.com/lib/pqx\n'],
  ])('and other packages are not: %s: %j', (file, text) => {
    expect(guess({ [file]: text }).tables).toEqual([]);
  });

  test('unless a service of its kind is there', () => {
    const { tables } = guess({ '.github/workflows/a.yml': WORKFLOW, 'package.json': '{"dependencies": {"pg": "8"}}' });
    expect(tables.map(({ name }) => name)).toEqual(['postgres', 'search']);
  });
});

describe('the settings of Django', () => {
  const MANAGE = 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n';
  const settings = (fields: string, engine = 'django.db.backends.postgresql') =>
    `SECRET_KEY = "x"\nDATABASES = {\n    "default": {\n        "ENGINE": "${engine}",\n${fields}\n    }\n}\n`;
  const ofDjango = (fields: string, engine?: string) =>
    guess({
      'manage.py': MANAGE,
      'shop/settings.py': settings(fields, engine),
      'requirements.txt': 'Django\npsycopg[binary]\nmysqlclient\n',
    });

  test('propose the database that its tests need, with its name, user and password', () => {
    const { tables, env, notes } = ofDjango(
      '"NAME": "shop", "USER": "ann", "PASSWORD": "secret", "HOST": "localhost", "PORT": "5432",',
    );
    expect(tables[0]).toEqual({
      name: 'postgres',
      why: 'the tests of Django use the PostgreSQL of shop/settings.py',
      values: {
        image: 'postgres:17',
        env: { POSTGRES_DB: 'shop', POSTGRES_USER: 'ann', POSTGRES_PASSWORD: 'secret' },
      },
    });
    expect([env, notes]).toEqual([{}, []]);
  });

  test('that read variables get their values, or keep their defaults', () => {
    const fields = [
      `'NAME': os.environ['DB_NAME'],`,
      `'USER': os.environ.get("DB_USER", "ann"),`,
      `'PASSWORD': env("DB_PASSWORD", default="secret"),`,
      `'HOST': os.getenv('DB_HOST', 'db'),`,
      `'PORT': config('DB_PORT'),`,
    ].join('\n');
    expect(ofDjango(fields)).toMatchObject({
      tables: [
        {
          name: 'db',
          values: { env: { POSTGRES_DB: 'postgres', POSTGRES_USER: 'ann', POSTGRES_PASSWORD: 'secret' } },
        },
        { name: 'mysql', isOff: true },
      ],
      env: { DB_NAME: 'postgres', DB_PORT: '5432' },
      envFrom: ['shop/settings.py'],
      notes: [],
    });
  });

  test('of MySQL, without a host, and with another port and user, are named', () => {
    const { tables, notes } = ofDjango('"NAME": "shop", "USER": "ann", "PORT": 3307,', 'django.db.backends.mysql');
    expect(tables[0]).toMatchObject({ name: 'mysql', values: { image: 'mysql:8.4', env: { MYSQL_DATABASE: 'shop' } } });
    expect(notes).toEqual([
      'shop/settings.py: USER is ann, but only root may create the database of the tests',
      'shop/settings.py: PORT is 3307, but the database has 3306',
      'shop/settings.py: HOST must be localhost; without it, Django looks for a socket file',
    ]);
  });

  test.each([
    ['other settings of the same project', { 'manage.py': MANAGE.replace('shop.settings', 'shop.settings.dev') }],
    ['a base of the settings', { 'manage.py': MANAGE.replace('shop.settings', 'shop.dev') }],
  ])('are found in %s', (_, files) => {
    const text = settings('"HOST": "localhost",');
    expect(guess({ ...files, 'shop/settings/base.py': text, 'shop/base.py': text }).tables).toMatchObject([
      { name: 'postgres', values: { image: 'postgres:17' } },
    ]);
  });

  test.each([
    ['with SQLite', settings('"NAME": "db.sqlite3",', 'django.db.backends.sqlite3')],
    [
      'with SQLite for tests',
      `${settings('')}if TESTING: DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3"}}\n`,
    ],
    ['with a comment', `# ${settings('').replaceAll('\n', '\n# ')}`],
    ['of any text', 'DATABASES = {"default": {"ENGINE": "'.repeat(500)],
  ])('%s propose none', (_, text) => {
    expect(guess({ 'manage.py': MANAGE, 'shop/settings.py': text }).tables).toEqual([]);
  });

  test('do not count beside services of CI', () => {
    const files = { '.github/workflows/a.yml': WORKFLOW, 'manage.py': MANAGE, 'shop/settings.py': settings('') };
    expect(guess(files).tables.map(({ name }) => name)).toEqual(['postgres', 'search']);
  });
});

describe('what fills an empty database is proposed as a comment', () => {
  const prepareOf = (files: Record<string, string>) =>
    guess({ '.github/workflows/a.yml': WORKFLOW, ...files }).tables.map(({ maybe }) => maybe?.values);
  const packages = (...names: string[]) =>
    JSON.stringify({ devDependencies: Object.fromEntries(names.map((name) => [name, '1'])) });

  test.each<[string, Record<string, string>, Record<string, unknown>]>([
    [
      'a script of package.json',
      { 'package.json': '{"scripts": {"test": "x", "db:migrate": "node migrate.js"}}' },
      { prepare: ['npm run db:migrate'] },
    ],
    [
      'Prisma',
      { 'package.json': packages('prisma'), 'prisma/schema.prisma': '' },
      { prepare: ['npx prisma migrate deploy'], prepare_files: ['prisma/**'] },
    ],
    [
      'Drizzle',
      { 'package.json': packages('drizzle-kit'), 'drizzle.config.ts': '' },
      { prepare: ['npx drizzle-kit migrate'], prepare_files: ['drizzle.config.ts', 'drizzle/**'] },
    ],
    [
      'Knex',
      { 'package.json': packages('knex'), 'knexfile.ts': '' },
      { prepare: ['npx knex migrate:latest'], prepare_files: ['knexfile.ts', 'migrations/**'] },
    ],
    [
      'Alembic',
      { 'alembic.ini': '[alembic]\nscript_location = %(here)s/db/alembic\n' },
      { prepare: ['alembic upgrade head'], prepare_files: ['alembic.ini', 'db/alembic/**'] },
    ],
    ['Rails', { 'db/schema.rb': '' }, { prepare: ['bin/rails db:schema:load'], prepare_files: ['db/**'] }],
  ])('%s', (_name, files, values) => {
    expect(prepareOf(files)).toEqual([values, undefined]);
  });

  test.each<[string, Record<string, string>]>([
    ['no tool', { 'package.json': packages('pg') }],
    ['a tool without its files', { 'package.json': packages('knex', 'prisma', 'drizzle-kit') }],
    ['scripts that do something else', { 'package.json': '{"scripts": {"migrate:down": "x", "migrate-docs": "x"}}' }],
    ['a package.json that is none', { 'package.json': '{"scripts": 5' }],
  ])('unless there is %s', (_name, files) => expect(prepareOf(files)).toEqual([undefined, undefined]));
});

test('hostile files lead to nothing', () => {
  const files = {
    'package.json': '{"dependencies": 5}',
    '.gitlab-ci.yml': 'services: 5\nx: {script: 1, services: {a: b}}\n',
  };
  const workflow = 'on: [push]\njobs: {a: {services: {x: [], "y z": {image: 5}}, steps: 7, env: []}}\n';
  expect(guess({ ...files, 'compose.yml': '[', '.github/workflows/a.yml': workflow })).toMatchObject({
    tables: [],
    env: {},
  });
});
