import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { parseBatchFile } from '../src/api/submit/batch-file.ts';
import { parseConfigFile } from '../src/config/load/config-file.ts';
import { resolveConfig } from '../src/config/resolve.ts';
import { PROGRAM_AGENTS } from './support/agent-ids.ts';
import { newRunId } from '../src/lib/run-id.ts';
import { parsePrd } from '../src/prd/parse-prd.ts';
import { anchorsOf, codeBlocks, linksOf } from './support/text/markdown.ts';

const root = resolve(import.meta.dirname, '..');
const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(root, path)) && statSync(join(root, path)).isFile());
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = tracked.filter((path) => path.endsWith('.md'));
const documents = pages.filter((path) => /^(docs\/)?[^/]+$/.test(path));

describe('links in the documents', () => {
  test.each(pages)('%s', (page) => {
    const broken = linksOf(read(page)).filter((link) => !resolves(page, link));
    expect(broken).toEqual([]);
  });

  it('docs/README.md names every page of docs/', () => {
    const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
    const linked = linksOf(read('docs/README.md')).map((link) => relative(root, resolve(root, 'docs', link)));
    expect(names.filter((name) => !linked.includes(join('docs', name)))).toEqual([]);
  });
});

it.each(['README.md', 'docs/agents.md'])('%s names each agent', (page) => {
  expect(PROGRAM_AGENTS.filter((id) => !read(page).includes(`\`${id}\``))).toEqual([]);
});

describe('the README', () => {
  const readme = read('README.md');

  it('has a tutorial with a PRD that is read without a warning', () => {
    const [example] = codeBlocks(readme, 'json');
    const prd = parsePrd(Buffer.from(example ?? ''), 'prd.json');
    expect(prd.stories.map(({ id, status }) => [id, status])).toEqual([
      ['US-001', 'pending'],
      ['US-002', 'pending'],
    ]);
    expect(prd.warnings).toEqual([]);
  });

  it('run ids in the documents are as long as real ones', () => {
    const { length } = newRunId(new Date(), randomBytes);
    const ids = documents.flatMap((page) => [...read(page).matchAll(/\b0tbq[0-9a-z]{4,}\b/g)].map(([id]) => id));
    expect(ids.length).toBeGreaterThan(10);
    expect(ids.filter((id) => id.length !== length)).toEqual([]);
  });

  it('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = documents.flatMap((page) =>
      [...read(page).matchAll(/\bnpm run ([a-z:]+)/g)].map(([, name]) => name!),
    );
    expect(named.filter((name) => !(name in scripts) && !isOfAnExample(name))).toEqual([]);
  });

  /** What the tutorial's own repository has. */
  function isOfAnExample(name: string): boolean {
    return ['lint'].includes(name);
  }
});

describe('every example in the documents is valid', () => {
  const blocks = (language: string) =>
    documents.flatMap((page) => codeBlocks(read(page), language).map((text, index) => ({ page, index, text })));

  test.each(blocks('toml'))('configuration $number of $page', ({ page, text }) => {
    if (text.includes('[[repositories]]'))
      return expect(parseBatchFile(page, text).repositories.length).toBeGreaterThan(1);
    const file = parseConfigFile(join(root, page), text);
    const where = /^\[(?:\[engines\]|choice|fleet|keep|mcp|server|issues|forge\.\w+|notify\.\w+)\]/m.test(text)
      ? { home: file }
      : { repo: file };
    expect(() => resolveConfig({ ...where, cwd: root })).not.toThrow();
  });

  test.each(blocks('json'))('JSON $number of $page', ({ page, text }) => {
    const value = JSON.parse(text) as object;
    if ('userStories' in value || 'stories' in value) expect(() => parsePrd(Buffer.from(text), page)).not.toThrow();
  });
});

it('hints in the sources name pages and sections that exist', () => {
  const sources = tracked.filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
  const named = sources.flatMap((path) => [...read(path).matchAll(/\((docs\/[a-z-]+\.md)(?:, \\?"([^"$\\]+))?/g)]);
  expect(named.length).toBeGreaterThan(5);
  const wrong = named.filter(([, page = '', section]) => {
    if (!existsSync(join(root, page))) return true;
    return section !== undefined && !new RegExp(`^#+ ${section}$`, 'm').test(read(page));
  });
  expect(wrong.map(([hint]) => hint)).toEqual([]);
});

describe('the files of the project', () => {
  test('name neither the folder of this checkout nor the hosts of its packages', () => {
    const marks = [root, ...registryHosts(), ...debianHosts()].filter((mark) => mark.length > 4);
    const naming = tracked.filter((path) => {
      const text = readFileSync(join(root, path), 'latin1');
      return marks.some((mark) => text.split(mark).some((after, index) => index > 0 && !/^\w/.test(after)));
    });
    expect(naming).toEqual([]);
  });
});

/** Whether a link of a page leads to a file of this repository, and to a heading that is there. */
function resolves(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? join(root, page) : resolve(root, dirname(page), decodeURIComponent(path));
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}

/** Where npm downloads from on this machine. */
function registryHosts(): string[] {
  const address = execFileSync('npm', ['config', 'get', 'registry'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return hostsIn(address.toString());
}

/** The mirrors that apt downloads from on this machine. */
function debianHosts(): string[] {
  const folder = '/etc/apt/sources.list.d';
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return ['/etc/apt/sources.list', ...files]
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => /^(deb|URIs:)/.test(line))
    .flatMap(hostsIn);
}

function hostsIn(text: string): string[] {
  const hosts = [...text.matchAll(/https?:\/\/(?:[^@/\s]*@)?([^/:\s\]]+)/g)].map(([, host = '']) => host);
  return hosts.filter((host) => !['localhost', '127.0.0.1'].includes(host));
}
