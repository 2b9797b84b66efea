import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';

let folder: string;

const PRD = {
  project: 'shop',
  branchName: 'x',
  userStories: [
    { id: 'US-2', title: 'Till', priority: 1, dependsOn: ['US-1'], passes: false },
    {
      id: 'US-1',
      title: 'Cart \u001b[31m',
      acceptanceCriteria: ['it holds'],
      priority: 2,
      passes: false,
      owner: 'ada',
    },
  ],
};

beforeAll(async () => {
  folder = tempDir('halo prd ä ');
  await writeFile(join(folder, 'prd.json'), JSON.stringify(PRD));
});

function halo(words: string[], stdin?: string) {
  return runCli(words, { operations: openMemory(), cwd: folder, ...(stdin === undefined ? {} : { stdin }) });
}

describe('halo prd schema', () => {
  it.each([
    ['ralph', 'userStories'],
    ['tasks', 'tasks'],
  ])('prints the JSON Schema of %s', async (dialect, key) => {
    const { code, stdout } = await halo(['prd', 'schema', dialect]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: `A PRD in the ${dialect} dialect`, required: [key] });
  });

  it.each([
    ['hank', 'The dialect hank is not JSON, so it has no JSON Schema.'],
    ['nothing', 'There is no dialect "nothing".'],
  ])('refuses %s', async (dialect, message) => {
    const { code, stderr } = await halo(['prd', 'schema', dialect]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('halo prd validate', () => {
  it('shows dialect, stories in execution order, and what was normalised', async () => {
    const { code, stdout } = await halo(['prd', 'validate', 'prd.json']);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'dialect  ralph',
      'project  shop',
      'stories  2: 2 open, 0 done',
      'fields   owner',
      '',
      'STORY  STATUS   PRIORITY  CRITERIA  NEEDS  TITLE',
      'US-1   pending  2         1         -      Cart [31m',
      'US-2   pending  1         0         US-1   Till',
      '',
      'Notes:',
      '  - branchName is ignored: each run has its own branch',
      '  - US-2: no acceptance criteria',
      '',
    ]);
  });

  it('explains the lines of the file', async () => {
    const { code, stdout } = await halo(['prd', 'validate', '-', '--explain'], '# Shop\n\n- [ ] one\n  - it holds\n');
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      'LINE  STORY  IS                   TEXT',
      '1     -      name of the project  # Shop',
      '3     one    title                - [ ] one',
      '4     one    criterion            - it holds',
    ]);
    const { stdout: json } = await halo(['prd', 'validate', '-', '--explain', '--json'], '- [ ] one\n');
    expect(JSON.parse(json)).toMatchObject({
      dialect: 'markdown-checkbox',
      lines: [{ line: 1, story: 'one', became: 'title', text: '- [ ] one' }],
    });
  });

  it('prints the PRD as JSON', async () => {
    const { stdout } = await halo(['prd', 'validate', '-', '--json'], '- [ ] one\n');
    expect(JSON.parse(stdout)).toMatchObject({ dialect: 'markdown-checkbox', stories: [{ id: 'one' }] });
  });

  it('refuses a file with file and line, and by the rules of a dialect if requested', async () => {
    const broken = await halo(['prd', 'validate', '-'], '{"tasks": [\n{"title": ""}]}');
    expect(broken).toMatchObject({ code: 6, stdout: '' });
    expect(broken.stderr).toContain('-:2: tasks[0].title: is missing');
    const strict = await halo(['prd', 'validate', 'prd.json', '--as', 'daedalus']);
    expect(strict.code).toBe(6);
    expect(strict.stderr).toContain('userStories[0].acceptanceCriteria: is missing');
    const other = await halo(['prd', 'validate', 'prd.json', '--as', 'hank']);
    expect(other.stderr).toContain('not in the dialect hank');
    const unknown = await halo(['prd', 'validate', 'prd.json', '--as', 'hanumann']);
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toContain('There is no dialect "hanumann"; did you mean "hanuman"?');
  });
});

describe('errors of halo prd validate --json', () => {
  it('are data with locations', async () => {
    const { code, stdout } = await halo(
      ['prd', 'validate', '-', '--json'],
      '{"tasks": [\n{"title": ""},\n{"id": true, "title": "x"}]}',
    );
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'PRD_INVALID',
        problems: [
          { line: 2, where: 'tasks[0].title', rule: 'is missing, and so is the description' },
          { line: 3, where: 'tasks[1].id', rule: 'must be a string, not a boolean' },
        ],
      },
    });
    const broken = await halo(['prd', 'validate', '-', '--json'], '{"tasks": [,]}');
    expect(JSON.parse(broken.stdout)).toMatchObject({ error: { problems: [{ line: 1, where: 'column 12' }] } });
  });

  it.each([
    ['prose', '# Idea\n\nPeople buy things.\n'],
    ['a product document', '{"title": "x", "phases": [{"goal": "y", "requirements": {}}]}'],
  ])('errors of %s point to halo import', async (_what, text) => {
    const { code, stderr } = await halo(['prd', 'validate', '-'], text);
    expect(code).toBe(6);
    expect(stderr).toContain('`halo import ');
  });
});

describe('halo prd convert', () => {
  it('writes the new file to stdout and losses to stderr', async () => {
    const { code, stdout, stderr } = await halo(['prd', 'convert', 'prd.json', '--to', 'markdown-numbered']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        ...['# shop', '', '## Priority 2', '', '- [ ] US-1: Cart [31m', '  - it holds'],
        ...['', '## Priority 1', '', '- [ ] US-2: Till', '  - Depends on: US-1', ''],
      ].join('\n'),
    );
    expect(stderr).toContain('read: US-2: no acceptance criteria\n');
    expect(stderr).toContain('changed: US-1: these fields are not kept: owner\n');
  });

  it('keeps the context and the other fields of a PRD, and escapes control characters', async () => {
    const prd = {
      project: 'shop',
      description: 'A \u001b[31mred\u009b shop',
      constraints: ['no tables'],
      userStories: [
        {
          id: 'US-1',
          title: 'Cart',
          acceptanceCriteria: ['adds'],
          files: ['a.ts', 'b.ts'],
          risk: 'low',
          passes: false,
        },
      ],
    };
    await writeFile(join(folder, 'whole.json'), JSON.stringify(prd));
    const { stdout, stderr } = await halo(['prd', 'convert', 'whole.json', '--to', 'markdown-stories']);
    expect(stdout).toContain('A <U+001B>[31mred<U+009B> shop\n\n## constraints\n\n- no tables\n');
    expect(stdout).toContain('\n**files:**\n\n- a.ts\n- b.ts\n\n**risk:** low\n');
    expect(stderr).toBe('changed: the description of the PRD is changed\n');
    const json = await halo(['prd', 'convert', 'whole.json', '--to', 'stories']);
    expect(json.stdout).toContain('A \\u001b[31mred\\u009b shop');
    expect(JSON.parse(json.stdout)).toMatchObject({
      constraints: '- no tables',
      stories: [{ files: ['a.ts', 'b.ts'] }],
    });
    const plain = await halo(['prd', 'convert', 'whole.json', '--to', 'array']);
    expect(plain.stderr).toContain('changed: these fields of the PRD are not kept: constraints\n');
  });

  it('keeps other lists with names similar to criteria', async () => {
    const story = '### US-1: Ship\n\n**Steps:** tag, then push\n\n**Acceptance Criteria:**\n\n- [ ] it is out\n';
    await writeFile(join(folder, 'steps.md'), story);
    for (const to of ['ralph', 'tasks', 'grouped']) {
      const { stdout, stderr } = await halo(['prd', 'convert', 'steps.md', '--to', to]);
      expect({ to, stderr, kept: stdout.includes('tag, then push') }).toMatchObject({ to, kept: true });
    }
  });

  it('refuses what the dialect cannot represent', async () => {
    const { code, stdout, stderr } = await halo(['prd', 'convert', 'prd.json', '--to', 'hanuman']);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toContain('cannot be written as hanuman: hanuman:');
    expect(stderr).toContain('must contain at least one criterion');
  });
});
