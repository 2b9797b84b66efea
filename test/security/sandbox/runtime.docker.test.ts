import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { isOlderVersion } from '../../../src/lib/version.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** What halo depends on: images, container runtimes, libraries. */

const ROOT = resolve(import.meta.dirname, '../../..');
const IMAGE = 'halo-test-hostile-image';
const docker = new Docker();

beforeAll(async () => {
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
afterAll(() => docker.getImage(IMAGE).remove({ force: true }));

describe('attack 16, incident working-folder: an image that exploits its runtime', () => {
  it('sets neither the folder, the user, the program, nor other processes', async ({ halo, repository }) => {
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

  it('is not used for copies between its container and the host, where runtimes had most vulnerabilities', () => {
    const calls = sources().filter(({ text }) => /\b(getArchive|putArchive|infoArchive)\b/.test(text));
    // Of halo's own image, without a start, for the certificates of an engine.
    expect(calls.map(({ path }) => path)).toEqual(['src/sandbox/docker/engine-files.ts']);
  });
});

describe('incident archive-library: tar-fs', () => {
  it('is installed only in versions that stay in their folder', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>;
    };
    const found = Object.entries(lock.packages).filter(([path]) => path.endsWith('node_modules/tar-fs'));
    expect(found.length).toBeGreaterThan(0);
    for (const [, { version }] of found)
      expect(isOlderVersion(version, version.startsWith('2.') ? '2.1.4' : '3.1.1')).toBe(false);
  });
});

/** Imports of what starts programs. */
const STARTS = /(?:from |import\()'(?:node:child_process|[^']*\b(?:execa|launcher)(?:\.ts)?)'/;

describe('incident git-calls: git on the host', () => {
  it('is started in one place, with a closed environment', () => {
    const starters = sources().filter(({ text }) => STARTS.test(text));
    const git = starters.filter(({ text }) => /\b\w*Git\(|\b(execa|spawn|exec)\w*\(\s*['"`](\S*\/)?git\b/.test(text));
    expect(git.map(({ path }) => path)).toEqual(['src/git/process/git.ts']);
  });
});

function sources(): { path: string; text: string }[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path: join('src', path), text: readFileSync(join(ROOT, 'src', path), 'utf8') }));
}
