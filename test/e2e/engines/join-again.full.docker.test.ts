import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addEngine } from '../../../src/features/engines/api/add-engine.ts';
import { createAuthority, createKey, signCertificate } from '../../../src/lib/network/certificate-authority.ts';
import { openMachines, type Machines, type NoMachines } from '../../support/engines/machines.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { freePort } from '../../support/network/free-port.ts';

let homes: HaloHome[];
let opened: Machines<'build-1'> | NoMachines;

beforeAll(async () => {
  homes = [openHome(), openHome()];
  opened = await openMachines(['build-1'], { tls: false, image: false });
});
afterAll(async () => {
  await Promise.all(homes.map((home) => home.close()));
  if ('machines' in opened) await opened.close();
});

it('a machine becomes what the command of another server, or of another address, means', async ({ skip }) => {
  if ('missing' in opened) return skip(opened.missing);
  const machine = opened.machines['build-1'];
  const [first, second] = homes as [HaloHome, HaloHome];
  const own = createAuthority('company', 86_400_000);
  const { publicKey, key } = createKey();
  const names: [string] = [machine.hostAddress];
  const files = {
    'company.pem': own.cert,
    'server.pem': signCertificate(own, { publicKey, use: 'server', names, validMs: 86_400_000 }),
    'server-key.pem': key,
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(machine.etc, file), text, { mode: 0o600 });
  const tls = `[server]\ntls_certificate = "${join(machine.etc, 'server.pem')}"\ntls_key = "${join(machine.etc, 'server-key.pem')}"\n`;
  const open = async (home: HaloHome, scheme: string) => {
    writeFileSync(join(home.dir, 'config.toml'), scheme === 'https' ? tls : '', { flag: 'a' });
    const listen = `${machine.hostAddress}:${await freePort()}`;
    const serving = home.start(['serve', '--listen', listen], { cwd: import.meta.dirname, env: { HALO_TOKEN: 'a'.repeat(32) } }); // prettier-ignore
    await serving.says(listen);
    return async (address: string, replace = false) => {
      const { command = '' } = await addEngine(home.dir, { name: 'build-1', address, server: `${scheme}://${listen}`, replace }); // prettier-ignore
      return `export CURL_CA_BUNDLE=/etc/docker/company.pem; { cd /tmp && ${command}; } 2>&1`;
    };
  };
  const read = (file: string) => readFileSync(join(machine.etc, file), 'utf8');
  const restart = async () => {
    await machine.stop('SIGTERM');
    await machine.start();
  };

  const ofFirst = await open(first, 'http');
  const ofSecond = await open(second, 'https');
  await machine.run(await ofFirst(machine.address));
  await restart();
  const settings = read('daemon.json');
  const authority = read('halo/ca.pem');
  expect(await machine.run(await ofSecond(machine.address))).toContain('Restart Docker now');
  expect([read('daemon.json'), read('halo/ca.pem') === authority]).toEqual([settings, false]);
  expect(existsSync(join(second.dir, 'engines/build-1/fingerprint'))).toBe(true);
  await restart();
  expect(await machine.run(await ofSecond(machine.address))).toContain('everything is in order already');

  const moved = machine.address.replace(':2376', ':2377');
  expect(await machine.run(await ofSecond(moved, true))).toContain('Restart Docker now');
  expect(read('daemon.json')).toBe(settings.replace(':2376', ':2377'));
  await restart();
  expect(await machine.run(await ofSecond(moved))).toContain('everything is in order already');
});
