import { execFileSync } from 'node:child_process';
import Docker from 'dockerode';
import { describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../support/patience.ts';
import { ensureServiceImage, type TestService } from '../support/services/service-images.ts';

interface Row {
  service: TestService;
  env: string[];
  data: string;
  /** What its client answers over TCP once the first start is over. */
  query: string;
  answer: string;
}

const ROWS: Row[] = [
  {
    service: 'postgres',
    env: ['POSTGRES_PASSWORD=secret', 'POSTGRES_USER=shop', 'POSTGRES_DB=books'],
    data: '/var/lib/postgresql/data',
    query: "PGPASSWORD=secret psql -h 127.0.0.1 -U shop books -Atc 'SELECT 1 + 1'",
    answer: '2',
  },
  {
    service: 'mariadb',
    env: ['MARIADB_ROOT_PASSWORD=root', 'MARIADB_USER=shop', 'MARIADB_PASSWORD=secret', 'MARIADB_DATABASE=books'],
    data: '/var/lib/mysql',
    query: "mariadb -h 127.0.0.1 -ushop -psecret books -Ne 'SELECT 1 + 1'",
    answer: '2',
  },
  { service: 'redis', env: [], data: '/data', query: 'redis-cli -h 127.0.0.1 SET a b', answer: 'OK' },
];

describe.each(ROWS)('the image of $service for tests', ({ service, env, data, query, answer }) => {
  it.each([
    ['as root, which gives up its rights', undefined, '999'],
    ['as a user without a name that owns the data folder', '23456', '23456'],
  ])('serves, started %s', async (_, other, user) => {
    const docker = new Docker();
    const image = await ensureServiceImage(service);
    const container = await docker.createContainer({
      Image: image,
      Env: env,
      ...(other !== undefined && { User: `${other}:${other}` }),
      HostConfig: {
        NetworkMode: 'none',
        ...(other !== undefined && { Tmpfs: { [data]: `uid=${other},gid=${other},mode=0700` } }),
      },
    });
    try {
      await container.start();
      const run = () =>
        execFileSync('docker', ['exec', container.id, 'sh', '-c', query], { encoding: 'utf8', stdio: 'pipe' }).trim();
      await vi.waitFor(() => expect(run()).toBe(answer), PATIENCE);
      const uid = execFileSync('docker', [
        'exec',
        container.id,
        'sh',
        '-c',
        "sed -n 's/^Uid:[ \\t]*\\([0-9]*\\).*/\\1/p' /proc/1/status",
      ]);
      expect(String(uid).trim()).toBe(user);
      await container.stop();
      const { State } = await container.inspect();
      expect(State.ExitCode).toBe(0);
    } finally {
      await container.remove({ force: true, v: true });
    }
  });
});
