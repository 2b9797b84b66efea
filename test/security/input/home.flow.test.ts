import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkHome } from '../../../src/api/doctor/diagnose.ts';
import { openLog } from '../../../src/cli/run/open-log.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { openChannel } from '../../../src/worker/network/channel.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A HALO_HOME that somebody made by hand, open to all users as a folder usually is. */
let home: string;
beforeEach(() => {
  home = tempDir('halo-open');
  chmodSync(home, 0o755);
});

const place = () => ({ home, runId: '2dhe5k7m', epoch: 1 });

/** Connects to a socket as another user, who can read its path in /proc/net/unix. Returns `in` or the error code. */
function connectAsOtherUser(socket: string): string {
  const program = `require('node:net').connect(${JSON.stringify(socket)}).on('connect', () => { console.log('in'); process.exit() }).on('error', (error) => console.log(error.code))`;
  // Only root can become another user; the modes below say the same.
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534, cwd: '/' } : undefined;
  if (other === undefined) return 'EACCES';
  return execFileSync(process.execPath, ['-e', program], { ...other, encoding: 'utf8', env: {} }).trim();
}

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('incident other-users: another user of the machine, where HALO_HOME is open to all', () => {
  it('cannot connect to a gateway, also if the folder of sockets was open before', async () => {
    mkdirSync(join(home, 'sockets'), { mode: 0o711 });
    chmodSync(join(home, 'sockets'), 0o711);
    const channel = await openChannel(place(), { port: 4080 });
    try {
      expect(connectAsOtherUser(join(channel.dir, 'gateway.sock'))).toBe('EACCES');
      expect(modeOf(join(home, 'sockets'))).toBe(0o700);
      // The sandbox is of another user as well, and sees this folder alone.
      expect([modeOf(channel.dir), modeOf(join(channel.dir, 'gateway.sock'))]).toEqual([0o711, 0o666]);
    } finally {
      await channel.close();
    }
  });

  it('cannot connect to Redis, and reads nothing that it writes', async () => {
    mkdirSync(join(home, 'redis'), { mode: 0o755 });
    const link = await connectRedis({ home, redisUrl: undefined });
    try {
      expect(modeOf(join(home, 'redis'))).toBe(0o700);
      const open = readdirSync(join(home, 'redis'))
        .map((name) => join(home, 'redis', name))
        .filter((path) => (modeOf(path) & 0o077) !== 0);
      expect(open).toEqual([]);
    } finally {
      await link.close();
    }
  });

  it('cannot read the worker’s log, new or old', async () => {
    const masker = openMasker();
    for (const make of [() => undefined, () => writeFileSync(join(home, 'worker.log'), 'old\n', { mode: 0o644 })]) {
      rmSync(join(home, 'worker.log'), { force: true });
      make();
      (await openLog('file', { home, masker })).info('new');
      expect(modeOf(join(home, 'worker.log'))).toBe(0o600);
    }
  });

  it('is reported by `halo doctor`, with the command that restricts access', async () => {
    expect(await checkHome(home)).toMatchObject({
      ok: 'warn',
      says: `${home} is open to other users of this machine (mode 755)`,
      fix: `chmod 700 '${home}'`,
    });
    chmodSync(home, 0o700);
    expect(await checkHome(home)).toMatchObject({ ok: 'ok' });
  });
});
