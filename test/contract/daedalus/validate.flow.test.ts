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
  path = join(repository.root, '.halo/prds/cart/prd.json');
  mkdirSync(join(path, '..'), { recursive: true });
});

const STORY = {
  id: 'US-001',
  title: 'Add the cart',
  description: 'As a user, I want it.',
  acceptanceCriteria: ['It adds.'],
  priority: 1,
  passes: false,
};

const bytesOf = (document: object) => new TextEncoder().encode(JSON.stringify(document));
const prdOf = (stories: object[], about: object = {}) => ({
  project: 'Shop',
  description: 'A shop.',
  ...about,
  userStories: stories.map((story, index) => ({ ...STORY, id: `US-00${index + 1}`, priority: index + 1, ...story })),
});

function halo(words: string[], document: object) {
  writeFileSync(path, bytesOf(document));
  return runCli(words, { operations: openMemory(), cwd: repository.root });
}

const validate = (document: object) => halo(['prd', 'validate', 'cart'], document);

describe('halo prd validate <name>', () => {
  it.each([
    ['a project', prdOf([{}], { project: undefined }), 'project: is missing'],
    ['a description', prdOf([{}], { description: 7 }), 'description: must be a string'],
    ['an id', prdOf([{ id: undefined }]), 'userStories[0].id: is missing'],
    ['a title', prdOf([{ title: undefined, name: 'Cart' }]), 'userStories[0].title: is missing'],
    ['descriptions of stories', prdOf([{}, { description: null }]), 'userStories[1].description: must be a string'],
    ['criteria', prdOf([{ acceptanceCriteria: 'It adds.' }]), 'userStories[0].acceptanceCriteria: must be a list'],
    ['criteria that are texts', prdOf([{ acceptanceCriteria: [7] }]), 'acceptanceCriteria[0]: must be a string'],
    ['no other criteria', prdOf([{ acceptanceCriteria: [{ text: 'It adds.' }] }]), 'acceptanceCriteria[0]: must be a'],
    ['a priority', prdOf([{ priority: 'high' }]), 'userStories[0].priority: must be a number'],
    ['a whole priority', prdOf([{ priority: 2.5 }]), 'userStories[0].priority: must be a whole number'],
    ['passes', prdOf([{ passes: 'yes' }]), 'userStories[0].passes: must be true or false'],
    ['inProgress, if it is there', prdOf([{ inProgress: 'yes' }]), 'userStories[0].inProgress: must be true or false'],
  ])('requires the schema for a named PRD: it has %s', async (_what, document, says) => {
    expect((await validate(prdOf([{}, { inProgress: true }, { passes: true }]))).code).toBe(0);
    expect(await validate(document)).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringContaining(says) as string,
    });
  });

  it('shows the execution order of the stories, and where the file does not determine it', async () => {
    const stories = [
      { id: 'US-002', priority: 2 },
      { id: 'US-004', priority: 4, inProgress: true },
      { id: 'US-003', priority: 3, inProgress: true },
      { id: 'US-001', priority: 2 },
      { id: 'US-000', priority: 2, passes: true },
    ];
    const { code, stdout } = await validate(prdOf(stories));
    expect(code).toBe(0);
    expect(stdout.split('\n').flatMap((line) => /^US-\d+(?= )/.exec(line)?.[0] ?? [])).toEqual([
      'US-003',
      'US-004',
      'US-002',
      'US-001',
      'US-000',
    ]);
    expect(stdout).toContain('- US-002, US-001: priority 2 is not unique; these stories run in file order\n');
    expect(stdout).toContain('- US-004, US-003: more than one story is in progress\n');
    const circle = await validate(prdOf([{ dependsOn: ['US-002'] }, { dependsOn: ['US-001'] }]));
    expect(circle).toMatchObject({ code: 6, stderr: expect.stringContaining('US-001') as string });
  });

  it('uses the same rules as all commands: a refused file cannot run, and is shown as damaged', async () => {
    const lax = prdOf([{ description: undefined }]);
    expect((await halo(['prd', 'list'], lax)).stdout).toMatch(/^cart {2}\? .*description: is missing/m);
    expect((await halo(['prd', 'status'], lax)).code).toBe(6);
    const home = join(repository.root, '..', 'home');
    const operations = openLocal({ host: hostOf(home) });
    const request = { repos: [repository.root], profile: undefined, set: scripted('true'), allowDirty: false };
    await expect(
      operations.submit({ ...request, prd: { path, bytes: bytesOf(lax) } }).then(({ runs }) => runs),
    ).rejects.toMatchObject({
      code: 'PRD_INVALID',
    });
    await operations.close();
    rmSync(home, { recursive: true, force: true });
  });

  it.each([
    ['a project', prdOf([{}], { project: ' ' }), 'project: is empty'],
    ['a story', prdOf([]), 'userStories: must have at least one story'],
    ['ids of its form', prdOf([{ id: 'cart' }]), 'userStories[0].id: must have the form US-001'],
    ['descriptions', prdOf([{ description: '' }]), 'userStories[0].description: is empty'],
    ['a criterion', prdOf([{ acceptanceCriteria: [] }]), 'acceptanceCriteria: must have at least one criterion'],
    ['priorities from 1', prdOf([{ priority: -3 }]), 'userStories[0].priority: must be a whole number of at least 1'],
    ['different priorities', prdOf([{}, { priority: 1 }]), 'userStories[1].priority: must be unique; userStories[0]'],
    ['one state', prdOf([{ passes: true, inProgress: true }]), 'inProgress: must not be true for a story that passes'],
  ])('requires with --as daedalus what daedalus itself requires: %s', async (_what, document, says) => {
    const strictly = (prd: object) => halo(['prd', 'validate', 'cart', '--as', 'daedalus'], prd);
    expect((await strictly(prdOf([{ inProgress: true }, { passes: true }], { description: '' }))).code).toBe(0);
    expect(await strictly(document)).toMatchObject({ code: 6, stderr: expect.stringContaining(says) as string });
    // A run reads it.
    expect((await validate(document)).code).toBe(0);
  });
});
