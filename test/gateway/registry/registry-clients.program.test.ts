import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openRegistries, registryProxyUrl } from '../../../src/gateway/registry/registries.ts';
import { openCredential } from '../../../src/gateway/registry/upstream-credentials.ts';
import { skipFor } from '../../support/skip.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { httpServer } from '../fixture.ts';
import { mirror, portOf, routeTo, upstream } from './mirror-fixture.ts';

const run = promisify(execFile);

const has = (program: string) => {
  try {
    return execFileSync(program, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  } catch {
    return '';
  }
};

const cargoMinor = Number(/^cargo 1\.(\d+)/.exec(has('cargo'))?.[1] ?? 0);

describe('the real cargo', skipFor(cargoMinor < 68 && 'needs cargo 1.68 or later'), () => {
  it.each([
    ['without', undefined],
    ['with', 'secret'],
  ])('downloads index and archives through the proxy, %s a token that the registry requires', async (_what, token) => {
    const dir = tempDir();
    mkdirSync(join(dir, 'halo-test-1.0.0/src'), { recursive: true });
    writeFileSync(
      join(dir, 'halo-test-1.0.0/Cargo.toml'),
      '[package]\nname = "halo-test"\nversion = "1.0.0"\nedition = "2021"\n',
    );
    writeFileSync(join(dir, 'halo-test-1.0.0/src/lib.rs'), '');
    const crate = execFileSync('tar', ['-czf', '-', 'halo-test-1.0.0'], { cwd: dir });
    const entry = {
      name: 'halo-test',
      vers: '1.0.0',
      deps: [],
      cksum: createHash('sha256').update(crate).digest('hex'),
      features: {},
      yanked: false,
    };
    const { host } = await upstream(
      {
        '/config.json': (own) =>
          JSON.stringify({ dl: `http://${own}/crates`, api: `http://${own}`, 'auth-required': token !== undefined }),
        '/ha/lo/halo-test': `${JSON.stringify(entry)}\n`,
        '/crates/halo-test/1.0.0/download': crate,
      },
      token,
    );
    const credentials = token === undefined ? [] : [openCredential(host, { scheme: 'token', user: '', token })!];
    const route = { ...routeTo('crates', `http://${host}`), credentials };
    const gate = await mirror(route);
    const url = registryProxyUrl(openRegistries([route]).get('crates')!, await portOf(gate.socket));
    const home = join(dir, 'home');
    mkdirSync(home);
    writeFileSync(
      join(home, 'config.toml'),
      `[source.crates-io]\nreplace-with = "halo"\n[source.halo]\nregistry = "sparse+${url}"\n`,
    );
    const project = join(dir, 'project');
    mkdirSync(join(project, 'src'), { recursive: true });
    writeFileSync(join(project, 'src/lib.rs'), '');
    writeFileSync(
      join(project, 'Cargo.toml'),
      '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nhalo-test = "1"\n',
    );
    await run('cargo', ['fetch'], { cwd: project, env: { ...process.env, CARGO_HOME: home } });
    expect(gate.traffic()).toMatchObject([
      { target: 'crates:config.json', outcome: 'served' },
      { target: 'crates:halo-test', outcome: 'served', count: 2 },
    ]);
  });
});

describe('the real pip', skipFor(has('pip') === '' && 'needs pip'), () => {
  it('downloads index and files through the proxy, also by relative links', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'halo_test-1.0.dist-info'));
    writeFileSync(join(dir, 'halo_test.py'), '');
    writeFileSync(
      join(dir, 'halo_test-1.0.dist-info/METADATA'),
      'Metadata-Version: 2.1\nName: halo-test\nVersion: 1.0\n',
    );
    writeFileSync(
      join(dir, 'halo_test-1.0.dist-info/WHEEL'),
      'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    );
    writeFileSync(join(dir, 'halo_test-1.0.dist-info/RECORD'), '');
    const zip =
      "import zipfile,glob,sys\nz=zipfile.ZipFile('w.whl','w')\nfor p in ['halo_test.py']+glob.glob('*.dist-info/*'): z.write(p)\nz.close()\nsys.stdout.buffer.write(open('w.whl','rb').read())";
    const wheel = execFileSync('python3', ['-c', zip], { cwd: dir });
    for (const link of casesAtLevel(['../../files/'], ['/files/', 'http://HOST/files/'])) {
      const file = 'halo_test-1.0-py3-none-any.whl';
      const server = await httpServer((req, res) => {
        if (req.url === '/base/simple/halo-test/') {
          res.setHeader('content-type', 'text/html');
          res.end(
            `<!DOCTYPE html><html><body><a href="${link.replace('HOST', server)}${file}">${file}</a></body></html>`,
          );
        } else if (/^(\/base)?\/files\//.test(req.url ?? '')) res.end(wheel);
        else res.writeHead(404).end();
      });
      const route = routeTo('pypi', `http://${server}/base/simple`);
      const gate = await mirror(route);
      const url = registryProxyUrl(openRegistries([route]).get('pypi')!, await portOf(gate.socket));
      const to = join(dir, `to-${link.length}`);
      const env = {
        ...process.env,
        PIP_INDEX_URL: url,
        PIP_FIND_LINKS: '',
        PIP_CONFIG_FILE: '/dev/null',
        PIP_NO_CACHE_DIR: '1',
      };
      await run('pip', ['download', '--no-deps', '-d', to, 'halo-test'], { env });
      expect(readdirSync(to)).toEqual([file]);
    }
  });
});
