import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { startLightEngine, type LightEngine } from '../../support/light-engine/start.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

let home: HaloHome;
/** It reports the same id as the engine of the environment, as that of a cloned machine does. */
let clone: LightEngine;

beforeAll(async () => void (clone = await startLightEngine()));
afterAll(() => clone.stop());
beforeEach(() => void (home = openHome()));
afterEach(() => home.close());

/** Another path to a socket. */
function linkTo(host: string, name: string): string {
  const path = join(home.dir, `${name}.sock`);
  symlinkSync(host.replace('unix://', ''), path);
  return `unix://${path}`;
}

const local = () => process.env.DOCKER_HOST ?? '';
const config = () => join(home.dir, 'config.toml');
const configure = (engines: Record<string, string>) =>
  writeFileSync(
    config(),
    Object.entries(engines)
      .map(([name, address]) => `[[engines]]\nname = "${name}"\naddress = "${address}"\n`)
      .join(''),
  );
const halo = (...words: string[]) => callHalo(words, { cwd: home.dir, env: { HALO_HOME: home.dir } });

describe('one Docker engine with two names', () => {
  it('is refused by halo engine add, whatever the path of its socket', async () => {
    configure({ b: clone.host });
    const before = readFileSync(config(), 'utf8');
    const here = await halo('engine', 'add', 'here', '--address', linkTo(local(), 'here'));
    expect(here).toMatchObject({ code: 2 });
    expect(here.stderr).toContain('is the same Docker engine as local: its slots would be counted twice');
    const again = await halo('engine', 'add', 'c', '--address', linkTo(clone.host, 'c'));
    expect(again.stderr).toMatch(/is the same Docker engine as b: .*\n.*halo engine add b --slots N/);
    expect(readFileSync(config(), 'utf8')).toBe(before);
  });

  it('is found by halo engine check, but not another engine with the same id', async () => {
    configure({ b: clone.host, c: linkTo(clone.host, 'c') });
    const found = JSON.parse((await halo('engine', 'check', 'b', '--json')).stdout) as { name: string }[];
    expect(found.filter(({ name }) => name === 'engine')).toMatchObject([
      { ok: 'warn', says: 'b and c are the same Docker engine, so their slots are counted twice' },
    ]);
    configure({ b: clone.host });
    expect((await halo('engine', 'check', 'b')).stdout).not.toContain('same Docker engine');
  });

  it('is a warning of its worker', async () => {
    configure({ here: local() });
    const worker = home.start(['worker', '--engine', 'here'], { cwd: home.dir });
    await worker.says('here and local are the same Docker engine, so their slots are counted twice');
  });
});
