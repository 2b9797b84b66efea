import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';
import { codeBlocks } from '../support/text/markdown.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { skipFor } from '../support/skip.ts';
import { tempDir } from '../support/temp-dir.ts';
import { newRepository } from '../support/repository/new-repository.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/setup.md', import.meta.url)), 'utf8');

/** By heading, the Dockerfiles below it. */
const dockerfiles = page
  .split(/^## /m)
  .slice(1)
  .flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'));
    return codeBlocks(section, 'dockerfile').map((text) => ({ title, text }));
  });

describe('the Dockerfiles of docs/setup.md', () => {
  test('exist for each tool that init knows and halo-sandbox lacks', () => {
    const titles = new Set(dockerfiles.map(({ title }) => title));
    expect([...titles]).toEqual(['pnpm', 'Python', 'Go', 'Rust', 'Java', 'Ruby', 'Playwright']);
  });

  test.each(dockerfiles)('$title: $text', ({ text }) => {
    const lines = text
      .replaceAll(/\\\n/g, ' ')
      .split('\n')
      .filter((line) => line.trim() !== '');
    expect(lines[0]).toBe('FROM halo-sandbox');
    for (const line of lines.slice(1)) expect(line).toMatch(/^(?:RUN|ENV|COPY --from=[\w./-]+:[\w.-]+) \S/);
    // A user, an entry point or a volume would have no effect, or be refused.
    expect(text).not.toMatch(/^(?:USER|ENTRYPOINT|CMD|VOLUME)/m);
    for (const line of lines.filter((each) => each.includes('apt-get install')))
      expect(line).toMatch(
        /^RUN apt-get update .*&& apt-get install -y --no-install-recommends .*rm -rf \/var\/lib\/apt/,
      );
  });
});

/** What shows in a sandbox that an image is of use, by its heading. */
const PROOFS: Record<string, string> = {
  pnpm: 'pnpm --version',
  Python: 'python3 -m venv .venv && .venv/bin/pip --version',
  Go: 'go version && printf "package main\\nfunc main() {}\\n" > /tmp/x.go && go run /tmp/x.go',
  Rust: 'cargo --version && echo "fn main() {}" > /tmp/x.rs && rustc -o /tmp/x /tmp/x.rs && /tmp/x',
  Ruby: 'bundle --version && rake --version',
  Playwright: 'chromium --headless --no-sandbox --disable-gpu --dump-dom data:text/html,hello | grep hello',
};

const buildable = dockerfiles.filter(({ text }) => !text.includes('--from='));

// Minutes of downloads: not with every run of the suite.
describe(
  'an image that is built from the page',
  skipFor(process.env.HALO_TEST_IMAGES !== '1' && 'runs with HALO_TEST_IMAGES=1'),
  () => {
    const home = openHome();
    afterAll(() => home.close());

    test.each(buildable)('$title', { timeout: 900_000 }, async ({ title, text }) => {
      const context = tempDir('halo-docs-image');
      const image = `halo-docs-${title.toLowerCase()}`;
      const repository = newRepository();
      try {
        // The machine's own registry, as `halo image build` uses it.
        const { stdout: registry } = await execa('npm', ['config', 'get', 'registry']);
        const authorities = process.env.NODE_EXTRA_CA_CERTS;
        if (authorities !== undefined) copyFileSync(authorities, join(context, 'ca.pem'));
        const trust = authorities === undefined ? '' : 'COPY ca.pem /etc/ca.pem\nARG NODE_EXTRA_CA_CERTS=/etc/ca.pem\n';
        writeFileSync(join(context, 'Dockerfile'), text.replace('\n', `\nARG npm_config_registry\n${trust}`));
        const argument = `npm_config_registry=${registry.trim()}`;
        const args = ['build', '--network', 'host', '--build-arg', argument, '-t', image, context];
        await execa('docker', args, { env: { DOCKER_BUILDKIT: '0' } });
        const gates = JSON.stringify([PROOFS[title]]);
        const words = ['check', '-c', `image=${image}`, '-c', `gates=${gates}`, '-c', 'limits.memory="2g"'];
        const { code, stdout } = await home.halo(words, { cwd: repository.root });
        expect(stdout).toMatch(/\n1 gate passes\n$/);
        expect(code).toBe(0);
      } finally {
        await execa('docker', ['rmi', image], { reject: false });
      }
    });
  },
);
