import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { scripted } from '../../support/halo/halo.ts';
import { openMemory } from '../../support/memory-operations.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let repository: TestRepository;
let path: string;

beforeEach(() => {
  repository = newRepository();
  path = join(repository.root, 'prds/001-FEAT-health.json');
  mkdirSync(join(path, '..'));
});

/** The PRD with which swanson tests itself. */
const STORY = {
  id: 'US-001',
  title: 'Basic Health Check',
  description: 'GET /health returns 200 OK',
  acceptanceCriteria: ['GET /health returns 200 status code', 'Response time is under 100ms'],
  priority: 1,
  complexity: 'simple',
  passes: false,
};
const ABOUT = { type: 'feature', name: 'Health Check Endpoint', description: 'Add a health check endpoint.' };

const prdOf = (stories: object[], about: object = {}) => ({ ...ABOUT, ...about, userStories: stories });
const storyOf = (fields: object) => prdOf([STORY, { ...STORY, id: 'US-002', ...fields }]);
const linesOf = (document: object) => JSON.stringify(document, null, 2);

function validate(text: string, ...words: string[]) {
  writeFileSync(path, text);
  return runCli(['prd', 'validate', path, ...words], { operations: openMemory(), cwd: repository.root });
}

describe('halo prd validate --as swanson', () => {
  it('accepts the PRD with which swanson tests itself', async () => {
    expect(await validate(linesOf(prdOf([STORY])), '--as', 'swanson')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    ['a type of its list', prdOf([STORY], { type: 'epic' }), 'type: must be one of feature, bug, enhancement'],
    ['a name', prdOf([STORY], { name: ' ' }), 'name: is empty'],
    ['a description', prdOf([STORY], { description: undefined }), 'description: is missing'],
    ['a story', prdOf([]), 'userStories: must have at least one story'],
    ['ids of its form', storyOf({ id: 'cart' }), 'userStories[1].id: must have the form US-001, BUG-001 or TECH-001'],
    ['ids that are texts', storyOf({ id: 7 }), 'userStories[1].id: must be a string, not a number'],
    ['a title', storyOf({ title: undefined, name: 'Cart' }), 'userStories[1].title: is missing'],
    ['a description of each story', storyOf({ description: '' }), 'userStories[1].description: is empty'],
    ['criteria', storyOf({ acceptanceCriteria: undefined }), 'userStories[1].acceptanceCriteria: is missing'],
    ['at least one criterion', storyOf({ acceptanceCriteria: [] }), 'acceptanceCriteria: must have at least one'],
    ['no empty criterion', storyOf({ acceptanceCriteria: ['It adds.', ' '] }), 'acceptanceCriteria[1]: is empty'],
    ['a list of criteria', storyOf({ acceptanceCriteria: 'It adds.' }), 'acceptanceCriteria: must be a list of'],
    ['a priority', storyOf({ priority: undefined }), 'userStories[1].priority: is missing'],
    ['a priority from 1', storyOf({ priority: 0 }), 'userStories[1].priority: must be a whole number of at least 1'],
    ['passes as true or false', storyOf({ passes: 'no' }), 'userStories[1].passes: must be true or false'],
    ['a complexity of its list', storyOf({ complexity: 'huge' }), 'complexity: must be one of simple, medium'],
    ['ids that differ', storyOf({ id: 'US-001' }), 'userStories[1].id: '],
  ])('requires %s', async (_what, document, says) => {
    const { code, stdout, stderr } = await validate(linesOf(document), '--as', 'swanson');
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toContain(says);
  });

  it('names the rules that it applied, and reports every problem once with its line', async () => {
    const document = linesOf(prdOf([{ ...STORY, description: '', passes: 'no', acceptanceCriteria: [7] }]));
    const { stderr } = await validate(document, '--as', 'swanson');
    const lineOf = (text: string) => document.split('\n').findIndex((line) => line.includes(text)) + 1;
    expect(stderr).toContain(`health.json:${lineOf('"description": ""')}: userStories[0].description: is empty\n`);
    expect(stderr.match(/acceptanceCriteria\[0\]/g)).toHaveLength(1);
    expect(stderr.match(/\.passes/g)).toHaveLength(1);
    expect(stderr).toContain('with the rules of swanson (docs/prd.md, "Strict validation")');
  });

  it('is stricter than a run: without --as, the same file is valid', async () => {
    const document = linesOf(prdOf([{ ...STORY, id: 'cart', priority: 0 }], { type: 'epic' }));
    expect(await validate(document)).toMatchObject({ code: 0 });
    expect(await validate(document, '--as', 'swanson')).toMatchObject({ code: 6 });
  });
});

describe('prd.criteria = "required"', () => {
  const lax = prdOf([STORY, { ...STORY, id: 'US-002', acceptanceCriteria: [] }]);

  it('refuses a story without criteria at validation and at the submit, with its line', async () => {
    const text = linesOf(lax);
    expect(await validate(text)).toMatchObject({ code: 0 });
    const line = text.slice(0, text.lastIndexOf('{')).split('\n').length;
    const says = `health.json:${line}: userStories[1]: has no acceptance criteria`;
    const refused = await validate(text, '-c', 'prd.criteria=required');
    expect(refused).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining(says) as string });
    repository.write('halo.toml', 'prd.criteria = "required"\n');
    expect(await validate(text)).toMatchObject({ code: 6 });
    const home = join(repository.root, '..', 'home');
    const operations = openLocal({ host: hostOf(home) });
    const bytes = new TextEncoder().encode(text);
    const request = { repos: [repository.root], profile: undefined, set: scripted('true'), allowDirty: true };
    await expect(
      operations.submit({ ...request, prd: { path, bytes } }).then(({ runs }) => runs),
    ).rejects.toMatchObject({
      code: 'PRD_INVALID',
      message: expect.stringContaining(says) as string,
    });
    expect((await operations.listRuns()).runs).toEqual([]);
    await operations.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('does not concern stories that are done or skipped', async () => {
    const done = prdOf([STORY, { ...STORY, id: 'US-002', acceptanceCriteria: [], passes: true }]);
    expect(await validate(linesOf(done), '-c', 'prd.criteria=required')).toMatchObject({ code: 0 });
  });

  it('applies to Markdown as well', async () => {
    path = path.replace('.json', '.md');
    const text = '# Plan\n\n- [ ] T001 Add the cart\n  - It adds up\n- [ ] T002 Check out\n';
    const { code, stderr } = await validate(text, '-c', 'prd.criteria=required');
    expect(code).toBe(6);
    expect(stderr).toContain('health.md:5: ');
    expect(stderr).not.toContain('health.md:3: ');
  });
});
