import { describe, expect, it } from 'vitest';
import {
  findServiceFaults,
  namesOf,
  portsOf,
  servicesFor,
  toServices,
  type DeclaredService,
} from '../../../src/features/services/core/service.ts';
import { chooseUser, findServiceUser } from '../../../src/features/services/worker/service-user.ts';
import { checkRuntime, describeEnd } from '../../../src/features/services/worker/running-service.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { EGRESS_PORT, MODEL_PORT } from '../../../src/worker/workspace/sandbox-paths.ts';

const GIB = 1024 ** 3;
const limits = { memoryBytes: 4 * GIB, cpus: 2 };

describe('a declared service', () => {
  it('has defaults, and never more than a sandbox', () => {
    const [db] = toServices({ db: { image: 'postgres:16' } }, limits);
    expect(db).toMatchObject({ ports: [5432], memoryBytes: GIB, cpus: 2, for: ['gates', 'agent'], readyMs: 300_000 });
    const [big] = toServices({ db: { image: 'postgres:16', memoryBytes: 9 * GIB, cpus: 8 } }, limits);
    expect(big).toMatchObject({ memoryBytes: 4 * GIB, cpus: 2 });
  });

  it('is ready when PostgreSQL says so, if its image has the program for it', () => {
    const readyOf = (service: DeclaredService) => toServices({ db: service }, limits)[0]?.ready;
    expect(readyOf({ image: 'pgvector/pgvector:pg16', port: 5433 })).toBe(
      '! command -v pg_isready >/dev/null || pg_isready -q -h 127.0.0.1 -p 5433',
    );
    expect(readyOf({ image: 'postgres:16', ready: 'true' })).toBe('true');
    expect(readyOf({ image: 'redis:7' })).toBeUndefined();
  });

  it('belongs to those that it is for, and is reached under all of its names', () => {
    const services = toServices(
      { db: { image: 'postgres', aliases: ['database'] }, cache: { image: 'redis', for: ['agent'] } },
      limits,
    );
    expect(servicesFor(services, 'gates').map(({ name }) => name)).toEqual(['db']);
    expect(namesOf(services)).toEqual(['cache', 'db', 'database']);
  });
});

describe('the ports of a service', () => {
  it.each([
    ['postgres', undefined, [5432]],
    ['registry.example.com:5000/team/mariadb:11@sha256:00', undefined, [3306]],
    ['valkey/valkey:8', undefined, [6379]],
    ['constructor', undefined, []],
    ['postgres:16', [5433, 5433], [5433]],
  ] as const)('of %s, declared as %j, are %j', (image, ports, expected) => {
    expect(portsOf({ image, ports })).toEqual(expected);
  });
});

const faultsOf = (declared: Record<string, DeclaredService>) =>
  findServiceFaults(declared).map(({ path, message }) => `${path.join('.')} ${message}`);

describe('services together', () => {
  it('have different ports', () => {
    const declared = { db: { image: 'postgres' }, other: { image: 'postgres:15' } };
    expect(faultsOf(declared)).toEqual([
      'other.port is 5432, which is also a port of services.db: two services cannot have one port',
    ]);
    expect(faultsOf({ ...declared, other: { image: 'postgres:15', port: 5433 } })).toEqual([]);
  });

  it('have ports that halo knows, and that are not its own', () => {
    expect(faultsOf({ api: { image: 'example/api' } })).toEqual([
      'api.port is missing: halo does not know the port of the image "example/api"',
    ]);
    for (const port of [MODEL_PORT, EGRESS_PORT])
      expect(faultsOf({ api: { image: 'example/api', port } })).toEqual([
        `api.port must not be ${port}, which is halo’s own in sandboxes`,
      ]);
  });

  it('have no more ports together than a sandbox can forward', () => {
    const ports = (first: number) => Array.from({ length: 30 }, (_, at) => first + at);
    const declared = { a: { image: 'x', ports: ports(1000) }, b: { image: 'y', ports: ports(2000) } };
    expect(faultsOf(declared)).toEqual([]);
    expect(faultsOf({ ...declared, c: { image: 'redis' } })).toEqual([' must have at most 60 ports together']);
  });

  it('do not have the names of others, or of halo', () => {
    expect(
      faultsOf({
        localhost: { image: 'redis' },
        db: { image: 'postgres', aliases: ['localhost', 'cache', 'db'] },
        cache: { image: 'memcached' },
      }),
    ).toEqual([
      'localhost is a name that sandboxes have already',
      'db.aliases must not have "localhost", a name that sandboxes have already',
      'db.aliases must not have "cache", which is also a name of services.cache',
    ]);
  });
});

describe('the user of a service', () => {
  it.each([
    [['/data'], [999], '', { user: 999, missing: [] }],
    [['/data'], [0], '1001:0', { user: 1001, missing: [] }],
    [['/data'], [0], 'root', { user: 19_998, missing: [] }],
    [['/config', '/data'], [0, 999], '', { user: 999, missing: [] }],
    [['/data'], [undefined], '', { user: 19_998, missing: ['/data'] }],
    [[], [], '', { user: 19_998, missing: [] }],
  ] as const)('with %j of %j in an image of user %j is %j', (folders, owners, imageUser, expected) => {
    expect(chooseUser(folders, owners, imageUser)).toEqual(expected);
  });

  it('is not guessed if the engine is too slow, and asked for again later', async () => {
    let runs = 0;
    const exit = { ended: 'wall' as const, exitCode: undefined };
    const sandbox = { run: () => Promise.resolve(exit), remove: () => Promise.resolve() };
    const engine = { start: () => Promise.resolve((runs++, sandbox as unknown as Sandbox)) };
    const image = { id: 'sha256:0', user: '', volumes: ['/data'] };
    for (let i = 0; i < 2; i++)
      await expect(findServiceUser(engine, image, ['/data'])).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    expect(runs).toBe(2);
  });
});

describe('the runtime of sandboxes with services', () => {
  it.each([undefined, 'runc', 'crun'])('may be %s', (runtime) => expect(checkRuntime(runtime)).toBeUndefined());

  it.each(['runsc', 'kata-runtime'])('cannot be %s, whose sandboxes share no sockets', (runtime) => {
    expect(() => checkRuntime(runtime)).toThrow(`Services do not work with the runtime ${runtime}`);
  });
});

describe('why a service ended', () => {
  const service = { name: 'db', ready: undefined, readyMs: 120_000, ports: [5432], memoryBytes: GIB };
  const bounds = { outputBytes: 64 * 1024 ** 2, diskBytes: 10 * GIB, freeDiskBytes: 2 * GIB };
  const endOf = (exit: Partial<Parameters<typeof describeEnd>[1]>, isLate = false) =>
    describeEnd(service, { ended: 'exited', exitCode: 1, outOfMemory: 'no', ...exit }, { isLate, limits: bounds });

  it.each([
    [
      endOf({ ended: 'aborted' }, true),
      'the service db was not ready within 2m (services.db.ready_within): it is when port 5432 accepts',
    ],
    [endOf({}), 'the service db ended by itself: exited 1'],
    [endOf({ outOfMemory: 'yes' }), 'the service db ran out of memory (services.db.memory = 1g)'],
    [endOf({ ended: 'disk' }), 'the data of the service db is larger than 10g (limits.disk)'],
    [endOf({ ended: 'output' }), 'the service db printed more than 64m (limits.output)'],
  ])('reads: %s', (said, expected) => {
    expect(said).toBe(expected);
  });
});
