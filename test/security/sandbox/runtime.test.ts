import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isOlderVersion } from '../../../src/lib/version.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** What halo depends on: images, container runtimes, libraries. */

const ROOT = resolve(import.meta.dirname, '../../..');
const IMAGE = 'halo-test-hostile-image';
const docker = new Docker();
let halo: TestHalo;

beforeAll(async () => {
  halo = await openHalo();
  const container = await docker.createContainer({ Image: 'halo-sandbox' });
  const changes = [
    'WORKDIR /proc/self/fd/8',
    'ENTRYPOINT ["/bin/false"]',
    'CMD ["/bin/false"]',
    'USER root',
    'HEALTHCHECK --interval=1s CMD touch /workspace/healthcheck',
    'EXPOSE 80',
  ];
  await container.commit({ repo: IMAGE, changes: changes.join('\n') });
  await container.remove();
});
afterAll(async () => {
  await halo.close();
  await docker.getImage(IMAGE).remove({ force: true });
});

describe('attack 16, incident working-folder: an image that uses holes of its runtime', () => {
  it('decides neither the folder, the user, the program, nor what else runs', async () => {
    const repository = newRepository();
    const script = `{ pwd; id -u; ls -d healthcheck; cat /proc/1/cmdline | tr '\\0' ' '; } > seen 2>&1; sleep 2; ${OK}`;
    const state = await halo.run(repository.root, [{ id: 'A' }], scripted(script, ['true'], [`image=${IMAGE}`]));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const [folder, user, ...rest] = repository.git('show', `halo/${state.runId}:seen`).split('\n');
    expect(folder).toBe('/workspace');
    expect(Number(user)).toBeGreaterThanOrEqual(20_000);
    expect(rest.join('\n')).toContain('cannot access');
    expect(rest.join('\n')).not.toContain('/bin/false');
    expect(repository.git('ls-tree', '-r', '--name-only', `halo/${state.runId}`)).not.toContain('healthcheck');
  });

  it('meets no copying between container and host, where runtimes had most of their holes', () => {
    const calls = sources().filter(({ text }) => /\b(getArchive|putArchive|infoArchive)\b/.test(text));
    expect(calls.map(({ path }) => path)).toEqual([]);
  });
});

describe('incident archive-library: tar-fs', () => {
  it('is here only in versions that stay in their folder', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>;
    };
    const found = Object.entries(lock.packages).filter(([path]) => path.endsWith('node_modules/tar-fs'));
    expect(found.length).toBeGreaterThan(0);
    for (const [, { version }] of found)
      expect(isOlderVersion(version, version.startsWith('2.') ? '2.1.4' : '3.1.1')).toBe(false);
  });
});

describe('incident git-calls: git on the host', () => {
  it('is started in one place, the one that seals its surroundings', () => {
    const starters = sources().filter(({ text }) => /from '(execa|node:child_process)'/.test(text));
    const git = starters.filter(({ text }) =>
      /\b(execa|spawn|exec)\w*\(\s*(await \w*Git\b|['"`](\S*\/)?git\b)/.test(text),
    );
    expect(git.map(({ path }) => path)).toEqual(['src/git/process/git.ts']);
  });
});

function sources(): { path: string; text: string }[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path: join('src', path), text: readFileSync(join(ROOT, 'src', path), 'utf8') }));
}
