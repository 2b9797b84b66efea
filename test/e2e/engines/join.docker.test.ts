import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readEngineAddress, requireEngine } from '../../../src/config/engine-address.ts';
import { addEngine, removeEngine } from '../../../src/features/engines/api/add-engine.ts';
import { PACKAGE_ROOT } from '../../../src/lib/version.ts';
import { openMachines, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { freePort } from '../../support/network/free-port.ts';

const CWD = import.meta.dirname;

let home: HaloHome;
let opened: Machines<'build-1'> | NoMachines;

beforeAll(async () => {
  home = openHome();
  opened = await openMachines(['build-1'], { tls: false });
});
afterAll(async () => {
  await home.close();
  if ('machines' in opened) await opened.close();
});

it('a machine joins with one command, which can be repeated, and loses nothing that others set', async ({ skip }) => {
  if ('missing' in opened) return skip(opened.missing);
  const machine = opened.machines['build-1'];
  const listen = `${machine.hostAddress}:${await freePort()}`;
  const serving = home.start(['serve', '--listen', listen], { cwd: CWD, env: { HALO_TOKEN: 'a'.repeat(32) } });
  await serving.says(listen);
  const engine = (...words: string[]) => home.halo(['engine', ...words], { cwd: CWD });
  const server = `http://${listen}`;
  const onMachine = (command = '') => `{ cd /tmp && ${command.trim()}; } 2>&1`;
  const added = await engine('add', 'build-1', '--address', machine.address, '--server', server);
  expect(added).toMatchObject({ code: 0 });
  const command = onMachine(added.stdout);
  const join_ = () => machine.run(command);
  const commandOf = async (name: string) =>
    onMachine((await addEngine(home.dir, { name, address: machine.address, server })).command);
  const daemonJson = join(machine.etc, 'daemon.json');
  const pin = join(home.dir, 'engines/build-1/fingerprint');

  // A configuration that is not halo's stays, and the server does not know a machine that keeps it.
  writeFileSync(daemonJson, '{ "debug": true }');
  expect(await machine.run(`${command} || true`)).toContain('without the settings of halo. Nothing was changed');
  expect(readFileSync(daemonJson, 'utf8')).toBe('{ "debug": true }');
  expect([existsSync(join(machine.etc, 'halo')), existsSync(pin)]).toEqual([false, false]);
  await machine.run('rm /etc/docker/daemon.json');

  expect(await join_()).toContain('Restart Docker now');
  const merged = JSON.stringify({ debug: true, ...JSON.parse(readFileSync(daemonJson, 'utf8')) }, null, 4);
  writeFileSync(daemonJson, merged);
  expect(await join_()).toContain('Restart Docker now');
  const files = () => ['key.pem', 'cert.pem'].map((file) => readFileSync(join(machine.etc, 'halo', file), 'utf8'));
  const before = files();
  await machine.stop('SIGTERM');
  await machine.start();
  expect(await join_()).toContain('everything is in order already');
  expect([readFileSync(daemonJson, 'utf8'), files()]).toEqual([merged, before]);
  expect(existsSync(join(home.dir, 'engines/build-1/key.pem'))).toBe(false);

  // The server that has forgotten the machine knows it again, with the same key.
  const pinned = readFileSync(pin, 'utf8');
  await removeEngine(home.dir, 'build-1');
  expect(await machine.run(`${command} || true`)).toContain('Run `halo engine add build-1` on the server');
  const again = await commandOf('build-1');
  expect(await machine.run(again)).toContain('everything is in order already');
  expect(readFileSync(pin, 'utf8')).toBe(pinned);
  await removeEngine(home.dir, 'build-1');
  expect(await machine.run(`${await commandOf('build-2')} || true`)).toContain('is the engine build-1 already');
  expect(existsSync(join(home.dir, 'engines/build-2/fingerprint'))).toBe(false);
  await removeEngine(home.dir, 'build-2');
  expect(await machine.run(await commandOf('build-1'))).toContain('everything is in order already');

  const address = await readEngineAddress(home.dir, await requireEngine(home.dir, 'build-1'));
  expect(address.tls?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  const checked = await engine('check', 'build-1');
  expect(checked).toMatchObject({ code: 0 });
  expect(checked.stdout).toMatch(/^✓ connection .*tcp:.*\n✓ certificate .*valid until .*179 days\n✓ image /);

  await machine.stop('SIGTERM');
  const away = await engine('check', 'build-1');
  expect(away).toMatchObject({ code: 5 });
  expect(away.stdout).toContain('no program listens at this address');
});

it('a machine with systemd joins without HTTP, by a drop-in beside Docker’s own unit', async ({ skip }) => {
  if ('missing' in opened) return skip(opened.missing);
  const machine = opened.machines['build-1'];
  copyFileSync(join(PACKAGE_ROOT, 'docker/engine/join.sh'), join(machine.etc, 'join.sh'));
  const systemctl = `echo "$*" >> /tmp/calls; case "$*" in show*) echo FragmentPath=/tmp/docker.service;; restart*) [ ! -e /tmp/broken ] || { rm /tmp/broken; exit 1; };; esac`;
  const prepare = [
    'rm -rf /etc/docker/halo /etc/docker/daemon.json && mount -t tmpfs tmpfs /etc/systemd',
    'mkdir -p /run/systemd/system /tmp/bin /etc/systemd/system',
    'printf "[Service]\\nExecStart=/usr/bin/dockerd -H fd://\\n" > /tmp/docker.service',
    `printf '#!/bin/sh\\n%s\\n' '${systemctl}' > /tmp/bin/systemctl && chmod +x /tmp/bin/systemctl`,
  ];
  await machine.run(prepare.join('\n'));
  const script = (...words: string[]) =>
    machine.run(`PATH=/tmp/bin:$PATH sh /etc/docker/join.sh build-1 ${machine.address} ${words.join(' ')} 2>&1`);
  const csr = join(home.dir, 'build-1.csr');
  writeFileSync(csr, (await script('--csr')).replace(/^halo:.*\n/gm, ''));
  const issued = await home.halo(['engine', 'add', 'build-1', '--address', machine.address, '--csr', csr], {
    cwd: CWD,
  });
  expect(issued).toMatchObject({ code: 0 });
  writeFileSync(join(machine.etc, 'build-1.pem'), issued.stdout);

  for (const file of ['/etc/docker/daemon.json', '/etc/systemd/system/docker.service.d/other.conf']) {
    await machine.run(`mkdir -p ${dirname(file)} && printf '"hosts"\\nExecStart=x\\n' > ${file}`);
    await expect(script('--install', '/etc/docker/build-1.pem')).rejects.toThrow();
    await machine.run(`rm ${file}`);
  }
  expect(await machine.run('ls /etc/systemd/system')).toBe('docker.service.d\n');

  // Docker does not start with the settings of halo: it gets back what it had, and the same command works later.
  await machine.run('touch /tmp/broken');
  await expect(script('--install', '/etc/docker/build-1.pem')).rejects.toMatchObject({
    stdout: expect.stringContaining('They were removed again, and Docker runs as before') as string,
  });
  expect(await machine.run('ls /etc/systemd/system/docker.service.d; tail -3 /tmp/calls; rm /tmp/calls')).toBe(
    'disable --now halo-engine.path\ndaemon-reload\nrestart docker.service\n',
  );

  await script('--install', '/etc/docker/build-1.pem');
  expect(await machine.run('grep ExecStart /etc/systemd/system/docker.service.d/halo.conf')).toBe(
    'ExecStart=\nExecStart=/usr/bin/dockerd -H fd:// -H tcp://0.0.0.0:2376 --tlsverify --tlscacert /etc/docker/halo/ca.pem --tlscert /etc/docker/halo/cert.pem --tlskey /etc/docker/halo/key.pem\n',
  );
  expect(await machine.run('grep -v show /tmp/calls')).toBe(
    'daemon-reload\nenable --now halo-engine.path\nrestart docker.service\n',
  );
});
