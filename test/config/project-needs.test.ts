import { describe, expect, it } from 'vitest';
import { describeUnmet, findNeeds } from '../../src/config/output/guess/project-needs.ts';
import { readWorkflow } from '../../src/config/output/guess/workflows.ts';

/** What a check says about files with an image whose programs print these versions. */
function unmet(files: Record<string, string>, image: Record<string, string>, workflow?: string): string[] {
  const workflows = workflow === undefined ? [] : [readWorkflow('.github/workflows/test.yml', workflow)];
  const needs = findNeeds(new Map(Object.entries(files)), workflows);
  return describeUnmet(needs, 'halo-sandbox', new Map(Object.entries(image)));
}

const json = (value: object) => ({ 'package.json': JSON.stringify(value) });
const workflowOf = (job: object) => JSON.stringify({ on: ['push'], jobs: { test: job } });

describe('what files say about programs of the image', () => {
  it.each<[name: string, files: Record<string, string>, image: Record<string, string>, says: string | undefined]>([
    [
      'another pnpm',
      json({ packageManager: 'pnpm@10.20.0+sha512.x' }),
      { pnpm: '9.15.9' },
      'package.json names pnpm 10.20.0, and the image halo-sandbox has 9.15.9 (docs/setup.md, "Images").',
    ],
    ['the same pnpm', json({ packageManager: 'pnpm@10.20.0' }), { pnpm: '10.4.1' }, undefined],
    [
      'Yarn that the repository contains',
      { ...json({ packageManager: 'yarn@4.1.0' }), '.yarnrc.yml': 'yarnPath: x' },
      { yarn: '1.22.22' },
      undefined,
    ],
    [
      'an older Node',
      json({ engines: { node: '>=24' } }),
      { node: 'v22.4.0' },
      'package.json names node 24, and the image halo-sandbox has 22.4.0 (docs/setup.md, "Images").',
    ],
    [
      'one of several versions of Node',
      json({ engines: { node: '^20.19 || >=22.12' } }),
      { node: 'v20.20.2' },
      undefined,
    ],
    ['a newer Node', { '.nvmrc': 'v20\n' }, { node: 'v22.4.0' }, undefined],
    ['a name of Node', { '.nvmrc': 'lts/*\n' }, { node: 'v18.0.0' }, undefined],
    [
      'an older Go',
      { 'go.mod': 'module x\n\ngo 1.23.0\n' },
      { go: 'go version go1.19.8 linux/amd64' },
      'go.mod names go 1.23, and the image halo-sandbox has 1.19.8 (docs/setup.md, "Go").',
    ],
    ['a newer Go', { 'go.mod': 'module x\ngo 1.18\n' }, { go: 'go version go1.19 linux/amd64' }, undefined],
    ['Go that is missing, as the commands say', { 'go.mod': 'module x\ngo 1.18\n' }, {}, undefined],
    [
      'an older Rust',
      { 'rust-toolchain.toml': '[toolchain]\nchannel = "1.90.0"\n' },
      { rustc: 'rustc 1.63.0 (4b91a6ea7 2022-08-08)' },
      'rust-toolchain.toml names rustc 1.90.0, and the image halo-sandbox has 1.63.0 (docs/setup.md, "Rust").',
    ],
    ['any stable Rust', { 'rust-toolchain': 'stable\n' }, { rustc: 'rustc 1.63.0' }, undefined],
    [
      'a compiler',
      { 'binding.gyp': '' },
      { python3: '' },
      'Setup compiles native code (binding.gyp), and the image halo-sandbox has no make, g++ (docs/setup.md, "Images").',
    ],
    [
      'a browser',
      json({ devDependencies: { '@playwright/test': '1' } }),
      {},
      'package.json has @playwright/test, and the image halo-sandbox has no chromium (docs/setup.md, "Playwright").',
    ],
    ['a browser that is there', json({ devDependencies: { puppeteer: '1' } }), { chromium: '' }, undefined],
    ['malformed files', { 'package.json': '{', 'go.mod': '', '.nvmrc': '' }, {}, undefined],
  ])('%s', (_name, files, image, says) => {
    expect(unmet(files, image)).toEqual(says === undefined ? [] : [says]);
  });

  it('includes the versions of workflows', () => {
    const steps = [
      { uses: 'pnpm/action-setup@v4', with: { version: 11 } },
      { uses: 'actions/setup-node@v4', with: { 'node-version': '26.x' } },
      { uses: 'actions/setup-go@v5', with: { 'go-version': '${{ matrix.go }}' } },
      { run: 'pnpm test' },
    ];
    expect(unmet({}, { pnpm: '9.15.9', node: 'v22.4.0', go: 'go1.1' }, workflowOf({ steps }))).toEqual([
      '.github/workflows/test.yml names pnpm 11, and the image halo-sandbox has 9.15.9 (docs/setup.md, "Images").',
      '.github/workflows/test.yml names node 26, and the image halo-sandbox has 22.4.0 (docs/setup.md, "Images").',
    ]);
    expect(unmet({}, {}, workflowOf({ 'runs-on': 'windows-latest', steps }))).toEqual([]);
  });
});
