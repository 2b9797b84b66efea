import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { composeServices, type Services } from '../../../src/cli/compose.ts';
import { complete } from '../../../src/cli/completion/complete.ts';
import { createCli } from '../../../src/cli/cli.ts';
import { openProcessIo } from '../../../src/cli/process-io.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { created, failed, passed } from '../../support/journal.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let repository: TestRepository;
let operations: ReturnType<typeof openMemory>;

beforeEach(() => {
  repository = newRepository({ 'src/a.txt': 'a\n' }, 'shop ä');
  operations = openMemory();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function halo(words: string[], cwd = repository.root) {
  const real = composeServices([]);
  const services: Partial<Services> = { editFile: (path) => real.editFile(path) };
  return runCli(words, { operations, services, cwd });
}

const inPrd = (name: string, file = 'prd.json') => join(repository.root, '.halo/prds', name, file);
const read = (name: string) => readFileSync(inPrd(name), 'utf8');
const draftsOf = (name: string) => readdirSync(inPrd(name, '')).filter((file) => file.startsWith('prd.draft'));

interface StoryFlags {
  id: string;
  priority: number;
  passes?: boolean;
  inProgress?: boolean;
}

function writePrd(name: string, stories: StoryFlags[]): void {
  const userStories = stories.map((story) => ({
    title: `Title of ${story.id}`,
    description: 'As a user, I want it.',
    acceptanceCriteria: ['it works'],
    passes: false,
    ...story,
  }));
  mkdirSync(inPrd(name, ''), { recursive: true });
  writeFileSync(inPrd(name), JSON.stringify({ project: 'Shop', description: 'A shop.', userStories }, undefined, 2));
}

/** An editor that is a shell script; the file is `$1`. */
function useEditor(script: string): void {
  const path = join(repository.root, '..', 'my editor');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  vi.stubEnv('VISUAL', '');
  vi.stubEnv('EDITOR', `'${path}'`);
}

describe('halo prd new', () => {
  it('scaffolds prd.md and prd.json, which can run after they are filled in, from any folder of the repository', async () => {
    const made = await halo(['prd', 'new', 'cart'], join(repository.root, 'src'));
    expect(made).toMatchObject({ code: 0, stdout: '../.halo/prds/cart/prd.json\n' });
    expect(readFileSync(inPrd('cart', 'prd.md'), 'utf8')).toContain('# cart');
    expect(JSON.parse(read('cart'))).toMatchObject({
      project: 'shop ä',
      userStories: [{ id: 'US-001', priority: 1, passes: false, inProgress: false }],
    });
    const template = await halo(['prd', 'validate', 'cart']);
    expect(template).toMatchObject({ code: 6, stdout: '' });
    expect(template.stderr).toContain(
      'still has placeholders of a new PRD: description; US-001: title, description, acceptanceCriteria',
    );
    expect(template.stderr).toContain('`halo prd edit cart`');
    const words = { 'What must exist in the end.': 'A shop.', 'The first story, in a few words': 'Add a cart' };
    const more = {
      'As a <role>, I want <feature>, so that <benefit>.': 'As a customer.',
      'Something that can be checked': 'It adds',
    };
    const filled = Object.entries({ ...words, ...more }).reduce(
      (text, [old, now]) => text.replace(old, now),
      read('cart'),
    );
    writeFileSync(inPrd('cart'), filled);
    expect(await halo(['prd', 'validate', 'cart'])).toMatchObject({ code: 0 });
    expect(await halo(['prd', 'new'])).toMatchObject({ code: 0, stdout: '.halo/prds/main/prd.json\n' });
  });

  it('never overwrites a PRD, and refuses names that are paths', async () => {
    await halo(['prd', 'new', 'cart']);
    writeFileSync(inPrd('cart'), 'mine');
    expect(await halo(['prd', 'new', 'cart'])).toMatchObject({ code: 2, stdout: '' });
    expect(read('cart')).toBe('mine');
    for (const name of ['../cart', 'a/b', '.git', 'cart.json', 'my cart', 'käse', '-rf', 'x'.repeat(65), ''])
      expect((await halo(['prd', 'new', '--', name])).code, name).toBe(2);
    mkdirSync(inPrd('till', ''));
    writeFileSync(inPrd('till', 'prd.md'), 'thoughts');
    expect((await halo(['prd', 'new', 'till'])).code).toBe(0);
    expect(readFileSync(inPrd('till', 'prd.md'), 'utf8')).toBe('thoughts');
    writeFileSync(inPrd('gate', ''), 'a file');
    expect(await halo(['prd', 'new', 'gate'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be created: a file with that name exists') as string,
    });
  });

  it('keeps what runs write out of git', async () => {
    await halo(['prd', 'new', 'cart']);
    for (const file of ['agent.log', 'events.jsonl', 'progress.md']) writeFileSync(inPrd('cart', file), 'x');
    useEditor(`echo ' ' >> "$1"; exit 3`);
    await halo(['prd', 'edit', 'cart']);
    expect(draftsOf('cart')).toHaveLength(1);
    expect(repository.git('status', '--porcelain', '--untracked-files=all').split('\n').sort()).toEqual([
      '?? .halo/prds/.gitignore',
      '?? .halo/prds/cart/prd.json',
      '?? .halo/prds/cart/prd.md',
    ]);
  });
});

describe('halo prd status', () => {
  it('shows completion, the active story and the newest run', async () => {
    writePrd('cart', [
      { id: 'US-001', priority: 1, passes: true },
      { id: 'US-002', priority: 2 },
      { id: 'US-003', priority: 3, inProgress: true },
    ]);
    const run = operations.addRun([{ ...created(undefined, ['US-002']), prdPath: inPrd('cart') }, ...failed('US-002')]);
    const { code, stdout } = await halo(['prd', 'status']);
    expect(code).toBe(0);
    expect(stdout).toContain('done     1 of 3 stories (33 %)\n');
    expect(stdout).toContain('active   US-003  Title of US-003\n');
    expect(stdout).toMatch(new RegExp(`^run {6}${run} `, 'm'));
    const json = JSON.parse((await halo(['prd', 'status', 'cart', '--json'])).stdout) as unknown;
    expect(json).toMatchObject({ done: 1, total: 3, active: [{ id: 'US-003' }], run: { runId: run } });
  });

  it('shows the running story, also if the file has no field for it', async () => {
    writePrd('cart', [
      { id: 'US-001', priority: 1 },
      { id: 'US-002', priority: 2 },
    ]);
    const begun = passed('US-001').slice(0, 2);
    const run = operations.addRun([{ ...created(undefined, ['US-001', 'US-002']), prdPath: inPrd('cart') }, ...begun]);
    operations.append(run, { type: 'run.paused', by: 'ada', now: false });
    const { stdout } = await halo(['prd', 'status']);
    expect(stdout).toContain(`active   US-001  Title of US-001\nrun      ${run}  pausing\n`);
    expect((await halo(['prd', 'list'])).stdout).toMatch(/^cart {2}0\/2 +US-001 /m);
  });

  it('names the next story if none is active: the lowest priority that has not passed', async () => {
    writePrd('cart', [
      { id: 'US-003', priority: 3 },
      { id: 'US-001', priority: 1, passes: true },
      { id: 'US-002', priority: 2 },
    ]);
    const { stdout } = await halo(['prd', 'status', 'cart']);
    expect(stdout).toContain('active   none\nnext     US-002  Title of US-002\n');
  });

  it('requires a name if there are several PRDs, and lists them', async () => {
    writePrd('cart', []);
    writePrd('till', []);
    expect(await halo(['prd', 'status'])).toMatchObject({ code: 2 });
    expect((await halo(['prd', 'status', 'shop'])).stderr).toContain('Named PRDs: cart, till.');
    rmSync(inPrd('till'));
    mkdirSync(inPrd('till'));
    const damaged = await halo(['prd', 'status', 'till']);
    expect(damaged).toMatchObject({ code: 6, stderr: expect.stringContaining('it is a folder') as string });
  });
});

describe('halo prd list', () => {
  it('lists all PRDs with their progress, including unreadable ones', async () => {
    expect((await halo(['prd', 'list'])).stderr).toContain('No named PRDs yet');
    writePrd('cart', [{ id: 'US-001', priority: 1, passes: true }]);
    writePrd('till', []);
    writeFileSync(inPrd('till'), '{');
    writePrd('my till', []);
    const { code, stdout } = await halo(['prd', 'list']);
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(1, 4)).toEqual([
      expect.stringMatching(/^cart {5}1\/1 +- +Shop$/),
      expect.stringMatching(/^my till {2}\? .*not a name of a PRD/),
      expect.stringMatching(/^till {5}\? .*prd\.json:1:2: The text is not valid JSON/),
    ]);
  });
});

describe('a PRD in the folder of daedalus', () => {
  it('is found by its name as one of halo, must have its dialect, and is not created again', async () => {
    writePrd('cart', [{ id: 'US-001', priority: 1 }]);
    renameSync(join(repository.root, '.halo'), join(repository.root, '.daedalus'));
    writePrd('till', [{ id: 'US-001', priority: 1, passes: true }]);
    expect((await halo(['prd', 'list'])).stdout).toMatch(/^cart {2}0\/1 .*\ntill {2}1\/1 /m);
    const sub = join(repository.root, 'src');
    expect((await halo(['prd', 'validate', 'cart'], sub)).stdout).toContain('dialect  daedalus');
    expect((await halo(['prd', 'status', 'cart'], sub)).stdout).toContain('.daedalus/prds/cart/prd.json');
    const again = await halo(['prd', 'new', 'cart']);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') as string });
    writeFileSync(join(repository.root, '.daedalus/prds/cart/prd.json'), '{"tasks": [{"id": "A", "title": "A"}]}');
    expect((await halo(['prd', 'validate', 'cart'])).code).toBe(6);
    // Of two with one name, the one of halo counts.
    writePrd('cart', [{ id: 'US-002', priority: 1 }]);
    expect((await halo(['prd', 'status', 'cart'])).stdout).toContain('.halo/prds/cart/prd.json');
  });
});

describe('halo prd edit', () => {
  it('saves the edited text if it is valid', async () => {
    await halo(['prd', 'new', 'cart']);
    useEditor(`sed -i 's/"US-001"/"US-007"/' "$1"`);
    const saved = await halo(['prd', 'edit', 'cart']);
    expect(saved.code).toBe(0);
    expect(saved.stderr).toMatch(/^saved cart: 1 story\nwarning: placeholders remain: description; US-007: title, /);
    expect(read('cart')).toContain('"US-007"');
    expect(draftsOf('cart')).toEqual([]);
    useEditor('true');
    expect((await halo(['prd', 'edit'])).stderr).toBe('nothing changed\n');
  });

  it('opens the editor of $VISUAL, and that of $EDITOR without it', async () => {
    await halo(['prd', 'new', 'cart']);
    useEditor(`sed -i 's/"US-001"/"US-008"/' "$1"`);
    vi.stubEnv('VISUAL', `sed -i 's/"US-001"/"US-009"/'`);
    expect(await halo(['prd', 'edit', 'cart'])).toMatchObject({ code: 0 });
    expect(read('cart')).toContain('"US-009"');
    vi.stubEnv('VISUAL', '');
    useEditor(`sed -i 's/"US-009"/"US-010"/' "$1"`);
    expect(await halo(['prd', 'edit', 'cart'])).toMatchObject({ code: 0 });
    expect(read('cart')).toContain('"US-010"');
  });

  it('keeps the PRD if the new text is invalid, and keeps the text for the next edit', async () => {
    await halo(['prd', 'new', 'cart']);
    const before = read('cart');
    useEditor(`sed -i 's/"US-001"/US-007"/' "$1"`);
    const refused = await halo(['prd', 'edit', 'cart']);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toContain('continues with your draft');
    expect(read('cart')).toBe(before);
    // As a checkout of the same content does.
    utimesSync(inPrd('cart'), 1, 1);
    useEditor(`sed -i 's/US-007"/"US-007"/' "$1"`);
    expect(await halo(['prd', 'edit', 'cart'])).toMatchObject({ code: 0 });
    expect(read('cart')).toContain('"US-007"');
  });

  it('discards the text of an editor that failed, and of one that met a change by a run', async () => {
    await halo(['prd', 'new', 'cart']);
    const before = read('cart');
    useEditor(`echo ' ' >> "$1"; exit 3`);
    expect((await halo(['prd', 'edit', 'cart'])).stderr).toContain('exit 3');
    expect(read('cart')).toBe(before);
    const [draft = ''] = draftsOf('cart');
    expect(readFileSync(inPrd('cart', draft), 'utf8')).toBe(`${before} \n`);
    rmSync(inPrd('cart', draft));
    useEditor(`echo ' ' >> "$1"; echo >> '${inPrd('cart')}'`);
    expect((await halo(['prd', 'edit', 'cart'])).stderr).toContain('was changed by another process during the edit');
    expect(read('cart')).toBe(`${before}\n`);
    useEditor('true');
    const stale = await halo(['prd', 'edit', 'cart']);
    expect(stale.stderr).toContain(`has changed since the draft ${inPrd('cart', draft)} was created`);
    expect(read('cart')).toBe(`${before}\n`);
  });

  it('leaves no draft if nothing was written', async () => {
    await halo(['prd', 'new', 'cart']);
    useEditor('exit 1');
    expect((await halo(['prd', 'edit', 'cart'])).code).toBe(2);
    useEditor('rm "$1"');
    expect(await halo(['prd', 'edit', 'cart'])).toMatchObject({ code: 0, stderr: 'nothing changed\n' });
    vi.stubEnv('EDITOR', 'no-such-editor --wait');
    expect((await halo(['prd', 'edit', 'cart'])).stderr).toContain('`no-such-editor --wait` could not be started');
    vi.stubEnv('EDITOR', '');
    expect((await halo(['prd', 'edit', 'cart'])).stderr).toContain('No editor is set');
    expect(draftsOf('cart')).toEqual([]);
  });

  it('passes any path to the editor as one argument', async () => {
    await halo(['prd', 'new', 'cart']);
    useEditor(`printf '%s|' "$#" "$1" > '${join(repository.root, 'seen')}'`);
    await halo(['prd', 'edit', 'cart']);
    const place = inPrd('cart', 'prd.draft-');
    expect(readFileSync(join(repository.root, 'seen'), 'utf8')).toMatch(
      new RegExp(`^1\\|${place}[0-9a-f]{8}\\.json\\|$`),
    );
  });
});

describe('a name where a PRD file is expected', () => {
  it('selects the PRD of that name, and is refused if a file has the same name', async () => {
    writePrd('cart', [{ id: 'US-001', priority: 1 }]);
    await halo(['submit', 'cart']);
    expect(operations.submitted.map(({ prd }) => prd.path)).toEqual([inPrd('cart')]);
    writeFileSync(join(repository.root, 'cart'), '- [ ] one\n');
    const both = await halo(['submit', 'cart']);
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(both.stderr).toContain('Use ./cart for the file');
    await halo(['submit', './cart']);
    expect(operations.submitted.at(-1)?.prd.path).toBe(join(repository.root, 'cart'));
  });

  it('is completed by the shell', async () => {
    writePrd('cart', []);
    const said: string[] = [];
    const cli = { ...createCli({ ...openProcessIo([]), cwd: repository.root }) };
    cli.print = (...lines) => Promise.resolve(void said.push(...lines));
    for (const words of [
      ['run', ''],
      ['prd', 'status', 'ca'],
      ['prd', 'new', ''],
    ])
      await complete(words, cli);
    expect(said).toEqual(['cart\ta PRD of this repository', 'cart\ta PRD of this repository']);
  });
});
