import { describe, expect, it } from 'vitest';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { importFrom, makeWorkshop, snapshot } from '../../git/import/import-fixture.ts';

describe('incident added-secret: possible secrets that a story adds', () => {
  it('are reported despite comments, files and paths of the repository', async () => {
    const shop = await makeWorkshop();
    // In parts, so that scanners of repositories do not take this file for a leak.
    const key = ['q7Zr2', 'XbN9w', 'Lp4Vt', 'Hs8Kd'].join('');
    const token = `${'ghp_'}${key}${key.slice(4)}`;
    const files = {
      '.gitleaks.toml': '[allowlist]\npaths = [".*"]\n',
      '.gitleaksignore': 'src/a.ts:generic-api-key:1\n',
      '.halo/halo.toml': '[secrets]\nallow = ["generic-api-key"]\n',
      'src/a.ts': `const apiKey = '${key}'; // gitleaks:allow\n`,
      'package-lock.json': `{ "resolved": "https://${token}@npm.example" }\n`,
    };
    expect((await importFrom(shop, snapshot(shop, files), { masker: openMasker() })).suspects).toEqual([
      { path: 'package-lock.json', names: ['a GitHub token (github-token)'] },
      { path: 'src/a.ts', names: ['a possible secret (generic-api-key)'] },
    ]);
  });
});
