import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { discoverPrd } from '../../../src/api/repository/discover-prd.ts';
import { tempDir } from '../../support/temp-dir.ts';

let repo: string;

beforeEach(() => {
  repo = tempDir('halo-discover');
});

function write(path: string): void {
  mkdirSync(dirname(join(repo, path)), { recursive: true });
  writeFileSync(join(repo, path), '{}');
}

const discover = () => discoverPrd({ repo, hint: 'Name it.' });

describe('the PRD of a repository', () => {
  it('is the only named PRD if no usual place has one', async () => {
    write('.halo/prds/checkout/prd.json');
    write('.halo/prds/not a name/prd.json');
    mkdirSync(join(repo, '.halo/prds/empty'));
    expect(await discover()).toBe(join(repo, '.halo/prds/checkout/prd.json'));
    write('prd.json');
    expect(await discover()).toBe(join(repo, 'prd.json'));
  });

  it('is the only named PRD of daedalus', async () => {
    write('.daedalus/prds/checkout/prd.json');
    expect(await discover()).toBe(join(repo, '.daedalus/prds/checkout/prd.json'));
  });

  it('is not guessed if there are several named PRDs', async () => {
    write('.halo/prds/checkout/prd.json');
    write('.halo/prds/search/prd.json');
    await expect(discover()).rejects.toMatchObject({
      message: `The repository ${repo} has several PRDs: .halo/prds/checkout/prd.json, .halo/prds/search/prd.json.`,
    });
  });

  it('is not found through a link out of it, and the searched places are listed', async () => {
    write('.halo/prds/main/prd.md');
    symlinkSync('/etc/hostname', join(repo, '.halo/prds/main/prd.json'));
    await expect(discover()).rejects.toMatchObject({
      code: 'PRD_UNREADABLE',
      message: expect.stringMatching(
        /has no PRD in a default path \(\.hank.*prd\.json.*\) and no named PRD\.$/,
      ) as string,
    });
  });
});
