import { describe, expect, test } from 'vitest';
import { readCompose } from '../../../src/features/services/config/compose/read-compose.ts';
import { toServices } from '../../../src/features/services/config/compose/to-services.ts';

const SHOP = `
name: shop
x-common: &common
  restart: unless-stopped
  logging: { driver: none }
services:
  web:
    build: .
    environment: { DATABASE_URL: postgres://shop@db/shop, SECRET: "\${SECRET}" }
    depends_on: [db]
    network_mode: host
  db:
    <<: *common
    image: postgres:\${PG_VERSION:-16}
    container_name: shop-database
    environment:
      POSTGRES_PASSWORD: secret
      POSTGRES_DB: shop
      WORKERS: 010
    command: postgres -c "shared_buffers = 128MB" -c fsync=off
    healthcheck:
      test: pg_isready -U $\${POSTGRES_USER}
      interval: 5s
      timeout: 3s
      retries: 60
    ports: ["127.0.0.1:5432:5432"]
    volumes: [data:/var/lib/postgresql/data]
    mem_limit: 512m
  Cache_1:
    image: redis:7
    tmpfs: [/data, "/tmp:size=1m"]
    healthcheck: { test: [CMD, redis-cli, --raw, "echo it"] }
    networks: { back: { aliases: [cache] } }
  queue:
    image: rabbitmq:4
    environment: [A=1=2, "B=x y"]
    expose: [5672]
    healthcheck: { test: [NONE] }
    cpus: 0.5
  debug: { image: adminer, profiles: [debug] }
volumes: { data: {} }
`;

test('the services of a compose file are those of halo.toml', () => {
  const { services, notes, problems } = readCompose(SHOP);
  expect(problems).toEqual([]);
  expect(notes).toEqual([]);
  expect(toServices(services).table).toEqual({
    db: {
      image: 'postgres:16',
      command: ['postgres', '-c', 'shared_buffers = 128MB', '-c', 'fsync=off'],
      env: { POSTGRES_PASSWORD: 'secret', POSTGRES_DB: 'shop', WORKERS: '010' },
      ready: 'pg_isready -U ${POSTGRES_USER}',
      ready_within: '8m',
      ports: [5432],
      memory: '512m',
      data: '/var/lib/postgresql/data',
      aliases: ['shop-database'],
    },
    'cache-1': {
      image: 'redis:7',
      ready: "redis-cli --raw 'echo it'",
      data: 'tmpfs',
      aliases: ['cache_1', 'cache'],
    },
    queue: { image: 'rabbitmq:4', env: { A: '1=2', B: 'x y' }, ports: [5672], cpus: 0.5 },
  });
});

test('services keep different names, whatever compose allows in them', () => {
  const { services } = readCompose(
    'services:\n  my_db: { image: postgres }\n  My.DB: { image: mysql }\n  my-db: { image: redis }\n  9: { image: mongo }\n',
  );
  const { table, lines } = toServices(services);
  expect(table).toEqual({
    'my-db': { image: 'redis' },
    'my-db-2': { image: 'postgres', aliases: ['my_db'] },
    'my-db-3': { image: 'mysql', aliases: ['my.db'] },
    service: { image: 'mongo', aliases: ['9'] },
  });
  expect([...lines]).toEqual([
    ['my-db', 4],
    ['my-db-2', 2],
    ['my-db-3', 3],
    ['service', 5],
  ]);
});

test('what is built from the project, or starts on demand, is left out', () => {
  expect(readCompose(SHOP).leftOut.map(({ name, line, why }) => [name, line, why])).toEqual([
    ['web', 7, 'it is built from this project'],
    ['debug', 40, 'it has profiles'],
  ]);
});

/** A service `db` with further lines; the first of them is line 4. */
const db = (more: string) => readCompose(`services:\n  db:\n    image: postgres\n    ${more}\n`);

describe('a service is refused for', () => {
  test.each([
    ['privileged: true', 'services.db.privileged: is not supported: every service is sealed in the same way'],
    ['network_mode: host', 'services.db.network_mode: is not supported: every service is sealed in the same way'],
    ['pid: host', 'services.db.pid: is not supported: every service is sealed in the same way'],
    ['devices: [/dev/kvm]', 'services.db.devices: is not supported: every service is sealed in the same way'],
    [
      'env_file: .env',
      'services.db.env_file: is not supported: halo reads no files of variables; write them below environment',
    ],
    [
      'extends: other',
      'services.db.extends: is not supported: halo does not combine services; write its settings here',
    ],
    ['entrypoint: sh', 'services.db.entrypoint: is not supported: that of the image runs; give it a command'],
    [
      'environment: { A: "x${HOME}" }',
      'services.db.environment.A: the variable HOME has no value here, because halo reads none of this machine; write the value, or ${HOME:-value}',
    ],
    ['environment: ["A=${B:?needed}"]', /environment\.A: the variable B has no value here/],
    [
      'environment: { A: "$(date)" }',
      'services.db.environment.A: "$(date)" is not a variable; write $$ for a dollar sign',
    ],
    ['environment: 5', 'services.db.environment: must be a map or a list'],
    ['environment: { A: [] }', 'services.db.environment.A: must be a text'],
    ['command: "echo \'x"', 'services.db.command: a quote is not closed'],
    ['healthcheck: { test: [pg_isready] }', /healthcheck\.test: must begin with CMD, CMD-SHELL or NONE/],
    ['healthcheck: { test: x, interval: soon }', 'services.db.healthcheck: "soon" is not a time like 5s'],
    ['healthcheck: { test: x, retries: many }', /healthcheck\.retries: must be a whole number/],
    [
      'ports: ["8000-8010:8000-8010"]',
      'services.db.ports: "8000-8010:8000-8010" is not one port, like 5432 or 5433:5432',
    ],
    ['tmpfs: here', 'services.db.tmpfs: "here" is not an absolute path'],
    ['mem_limit: much', 'services.db.mem_limit: "much" is not a size like 512m'],
  ])('%s', (line, says) => {
    const { problems } = db(line);
    expect(problems).toEqual([
      { line: 4, says: typeof says === 'string' ? says : (expect.stringMatching(says) as string) },
    ]);
  });
});

describe('a service works without', () => {
  test.each([
    ['depends_on: [other]', 'depends_on: is not used: services start at the same time'],
    [
      'volumes: [./init.sql:/docker-entrypoint-initdb.d/init.sql]',
      'volumes: "./init.sql" is not mounted: a service sees no files of this machine',
    ],
    [
      'volumes: [{ type: bind, source: /srv, target: /data }]',
      'volumes: "/srv" is not mounted: a service sees no files of this machine',
    ],
    ['shm_size: 1g', 'shm_size: is not used: it is 128 MiB'],
    ['cap_add: [SYS_NICE]', 'cap_add: is not used: a service has no capabilities'],
    ['ports: ["5433:5432"]', 'ports: 5433 is not used: tests reach the service at port 5432'],
    ['ports: [{ target: 53, protocol: udp }]', 'ports: "53/udp" is not used: only TCP is'],
    ['environment: [HOME]', 'environment: HOME has no value here, and is left out'],
    ['imagine: 1', 'imagine: is not a key that halo knows'],
  ])('%s', (line, says) => {
    const { notes, problems, services } = db(line);
    expect(problems).toEqual([]);
    expect(notes).toEqual([{ line: 4, says: `services.db.${says}` }]);
    expect(services).toHaveLength(1);
  });

  test.each([
    'restart: always',
    'privileged: false',
    'volumes: [data:/var/lib/postgresql/data]',
    'x-note: 1',
    'networks: [a]',
  ])('%s, which needs no words', (line) => {
    expect(db(line)).toMatchObject({ notes: [], problems: [], services: [{ image: 'postgres' }] });
  });
});

describe('a file is refused', () => {
  test.each([
    ['', 1, 'must be a map with services'],
    ['- a\n', 1, 'must be a map with services'],
    ['a: 1\n', 1, 'services: must be a map of services'],
    ['services: {}\n', 1, /no service has an image/],
    ['services:\n  web: { build: . }\n', 1, /no service has an image/],
    ['services:\n  db: {}\n', 2, 'services.db: image is missing'],
    ['services:\n  db: { image: "-x" }\n', 2, 'services.db.image: "-x" is not the name of an image'],
    ['services:\n  "a b": { image: x }\n', 2, 'services: "a b" is not the name of a service'],
    ['include: [other.yaml]\nservices: { db: { image: x } }\n', 1, /^include: halo reads one file/],
    ['services:\n  db: { image: x }\n  db: { image: y }\n', 3, /YAML that halo reads: the key "db" is there twice/],
    ['services: [\n', 2, /YAML that halo reads/],
    ['services: *nowhere\n', 1, /YAML that halo reads/],
  ])('%j', (text, line, says) => {
    const { problems } = readCompose(text);
    expect(problems[0]).toEqual({
      line,
      says: typeof says === 'string' ? says : (expect.stringMatching(says) as string),
    });
  });
});
