import { describe, expect, test } from 'vitest';
import type { HaloError } from '../../src/core/failure/errors.ts';
import { convertPrd } from '../../src/prd/convert-prd.ts';
import { explainPrd } from '../../src/prd/explain-prd.ts';
import { changedFiles, isFolderText, readFolderText } from '../../src/prd/folder/folder-text.ts';
import { judgePrdChange } from '../../src/prd/judge-change.ts';
import { markDone } from '../../src/prd/mark-done.ts';
import { assertCriteria, filesOfPrd, parsePrd } from '../../src/prd/parse-prd.ts';
import { assertUpdatable } from '../../src/features/plan/prd/update-plan.ts';
import { toBytes } from '../support/prd/prd-writers.ts';
import { backlogTask, folderOf } from '../support/prd/task-folder.ts';

const BACKLOG = {
  'task-10 - Tax.md': backlogTask(10, { needs: 'TASK-2', priority: 'low' }),
  'task-2 - Total.md': backlogTask(2, { needs: 'task-1, task-99' }),
  'task-1 - Cart.md': backlogTask(1, { status: 'Done' }),
  'README.md': '# Tasks\n\n- [ ] not a story\n',
};

const task = (name: string, needs: string) =>
  `---\nname: ${name}\nstatus: open\ndepends_on: [${needs}]\nparallel: true\n---\n\n# Task: ${name}\n\n## Acceptance Criteria\n- [ ] ${name} works\n`;
const EPIC = {
  'epic.md': '---\nname: cart\nstatus: backlog\nprogress: 0%\n---\n\n# Epic: cart\n\nA cart in memory.\n',
  '002.md': task('View', '001'),
  '001.md': task('Model', ''),
  '001-analysis.md': '---\nissue: 001\ntitle: Model\n---\n- [ ] x\n',
};

const PATH = 'backlog/tasks';
const read = (files: Record<string, string>) => parsePrd(folderOf(files), PATH);
const refusal = (files: Record<string, string>): HaloError | undefined => {
  try {
    read(files);
    return undefined;
  } catch (error) {
    return error as HaloError;
  }
};

describe('a folder of task files', () => {
  test('has its tasks as stories, in the order of their names with numbers', () => {
    const prd = read(BACKLOG);
    expect(prd.dialect).toBe('task-file');
    expect(prd.stories.map(({ id, status, priority, dependsOn }) => [id, status, priority, dependsOn])).toEqual([
      ['task-1', 'done', 2, []],
      ['task-2', 'pending', 2, ['task-1']],
      ['task-10', 'pending', 3, ['task-2']],
    ]);
    expect(prd.warnings).toEqual([
      'not read, because it has no front matter: README.md',
      'task-2: needs "task-99", which is not a story; the agent gets it as text',
    ]);
  });

  test('names tasks without an id after their files, and gives the epic to all of them', () => {
    const prd = read(EPIC);
    expect(prd).toMatchObject({ project: 'cart', context: [{ label: 'epic' }] });
    expect(prd.stories.map(({ id, title, dependsOn }) => [id, title, dependsOn])).toEqual([
      ['001', 'Model', []],
      ['002', 'View', ['001']],
    ]);
    expect(prd.warnings).toEqual([
      'not read, because its front matter has no status, or neither id, title nor name: 001-analysis.md',
    ]);
  });

  test('finds a dependency that names only the number of a file', () => {
    const files = { '001-model.md': task('Model', ''), '002-view.md': task('View', '001') };
    expect(read(files).stories[1]?.dependsOn).toEqual(['001-model']);
  });

  test.each<[name: string, files: Record<string, string>, message: string]>([
    ['without tasks', { 'README.md': '# A\n' }, 'The folder has no task files; it has README.md.'],
    [
      'with two tasks of one id',
      { 'a.md': backlogTask(1), 'b.md': backlogTask(1) },
      `${PATH}/b.md:2: task-1.id: the id "task-1" is already used by a.md`,
    ],
    [
      'with a cycle',
      { 'a.md': backlogTask(1, { needs: 'task-2' }), 'b.md': backlogTask(2, { needs: 'task-1' }) },
      `${PATH}/a.md:2: task-1: dependency cycle`,
    ],
    [
      'with a task without a title',
      { 'a.md': backlogTask(1), 'b.md': backlogTask(2).replace('title: Task 2', 'title: [1]') },
      `${PATH}/b.md:3: title: must be a string, not a list`,
    ],
    [
      'with invalid front matter',
      { 'a.md': backlogTask(1).replace('Task 1', 'A: b: c') },
      `${PATH}/a.md:3: front matter: `,
    ],
    [
      'with a conflict',
      { 'a.md': backlogTask(1), 'b.md': `${backlogTask(2)}\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n` },
      `${PATH}/b.md:18: a marker of an unfinished merge`,
    ],
  ])('%s is refused with file and line', (_name, files, message) => {
    expect(refusal(files)?.message).toContain(message);
  });

  test('names the file of each problem as data, in the order of the files', () => {
    const broken = (id: number) => backlogTask(id).replace(`title: Task ${id}\n`, '');
    expect(refusal({ 'task-10.md': broken(10), 'task-9.md': broken(9) })?.problems).toMatchObject([
      { file: 'task-9.md', line: 2, rule: 'is missing' },
      { file: 'task-10.md', line: 2, rule: 'is missing' },
    ]);
  });

  test('says where the tasks are, if it is the folder above', () => {
    const bytes = folderOf({ 'readme.md': '# A' }, [{ name: 'tasks', why: 'it is a folder' }]);
    expect(() => parsePrd(bytes, 'backlog')).toThrow(expect.objectContaining({ hint: 'Name backlog/tasks.' }));
  });

  test('is not read in another dialect, and is not a plan', () => {
    expect(() => parsePrd(folderOf(BACKLOG), PATH, 'ralph')).toThrow('A folder is read as task-file, not as ralph');
    expect(() => assertUpdatable(folderOf(BACKLOG), PATH)).toThrow('cannot be updated');
  });

  test('can be converted to a file', () => {
    expect(JSON.parse(convertPrd(folderOf(BACKLOG), PATH, 'ralph').text)).toMatchObject({
      userStories: [{ id: 'task-1', passes: true }, { id: 'task-2', passes: false }, { id: 'task-10' }],
    });
  });

  test('is checked for criteria with the file of each task', () => {
    const files = { ...BACKLOG, 'task-3.md': backlogTask(3).replace('- [ ] #1 3 works\n', '') };
    expect(() => assertCriteria({ bytes: folderOf(files), path: PATH })).toThrow(
      `${PATH}/task-3.md:2: task-3: has no acceptance criteria`,
    );
  });

  test('is explained line by line, with the file of each', () => {
    const lines = explainPrd(folderOf(EPIC), PATH);
    expect(lines.filter(({ file }) => file === '001.md').map(({ line, became }) => [line, became])).toEqual([
      [2, 'title'],
      [3, 'progress'],
      [4, 'dependencies'],
      [5, 'field "parallel" for the agent'],
      [8, 'description'],
      [10, 'heading of the criteria'],
      [11, 'criterion'],
    ]);
    expect(lines.filter(({ file }) => file === 'epic.md')).toMatchObject([
      { line: 2, became: 'name of the project' },
      { line: 3, became: 'not read', unread: true },
      { line: 4, became: 'not read', unread: true },
      { line: 7, became: 'name of the project' },
      { line: 9, became: 'context "epic"' },
    ]);
  });
});

describe('marks in a folder', () => {
  const mark = (files: Record<string, string>, ...ids: string[]) => {
    const bytes = folderOf(files);
    const { stories } = parsePrd(bytes, PATH);
    const landed = stories.filter(({ id }) => ids.includes(id));
    const marked = markDone(bytes, PATH, { landed, before: stories.filter(({ status }) => status === 'done') });
    const changed = marked.bytes === undefined ? [] : changedFiles(bytes, marked.bytes, PATH);
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    return { gone: marked.gone, changed: changed.map(({ name, after }) => [name, decoder.decode(after)]) };
  };

  test('change the word of each task in its own file, and no other byte', () => {
    const crlf = `\uFEFF${backlogTask(3).replaceAll('\n', '\r\n')}`;
    expect(mark({ ...BACKLOG, 'task-3.md': crlf }, 'task-2', 'task-3').changed).toEqual([
      ['task-2 - Total.md', BACKLOG['task-2 - Total.md'].replace('To Do', 'Done')],
      ['task-3.md', crlf.replace('To Do', 'Done')],
    ]);
    expect(mark(EPIC, '001').changed).toEqual([['001.md', EPIC['001.md'].replace('open', 'closed')]]);
  });

  test('find a task again whose file has another name; one that is gone is named', () => {
    const bytes = folderOf(BACKLOG);
    const { stories } = parsePrd(bytes, PATH);
    const landed = stories.filter(({ id }) => id !== 'task-1');
    const now = folderOf({ 'done.md': BACKLOG['task-2 - Total.md'] });
    const { bytes: marked, gone } = markDone(now, PATH, { landed, before: [] });
    expect(gone).toEqual(['task-10']);
    expect(changedFiles(now, marked!, PATH)).toMatchObject([{ name: 'done.md' }]);
  });

  test('change nothing that says what to build', () => {
    const done = { ...BACKLOG, 'task-2 - Total.md': BACKLOG['task-2 - Total.md'].replace('To Do', 'Done') };
    expect(read(done).specHash).toBe(read(BACKLOG).specHash);
    const other = { ...BACKLOG, 'task-2 - Total.md': BACKLOG['task-2 - Total.md'].replace('Do 2', 'Do 3') };
    expect(read(other).specHash).not.toBe(read(BACKLOG).specHash);
  });

  test.each(['task-2 - Total.md', '001.md'])('a story may make the mark in its own file %s', (name) => {
    const files: Record<string, string> = name === '001.md' ? EPIC : BACKLOG;
    const text = files[name] ?? '';
    const story = read(files).stories.find(({ id }) => name.startsWith(id))!;
    const judge = (after: string) =>
      judgePrdChange({ before: toBytes(text), after: toBytes(after), path: name, story })?.isOwnMark;
    expect(judge(text.replace(/status: .*/, 'status: done'))).toBe(true);
    expect(judge(text.replace('works', 'fails'))).toBe(false);
  });
});

const STATES = `project: shop
story_location: docs/stories
development_status:
  epic-1: contexted
  1-1-add-the-model: done
  1-2-add-the-total: ready-for-dev # soon
  1-3-fix-rounding: backlog
`;
const story = (id: string, needs: string) =>
  `### Story ${id}: Do ${id}\n\n**Acceptance Criteria:**\n\n- ${id} works\n\n**Prerequisites:** ${needs}\n\n`;
const BMAD = {
  'epics/epic-1.md': `# Epic 1: Cart\n\n${story('1.1', 'None')}${story('1.2', 'Story 1.1')}`,
  'epics/epic-2.md': `# Epic 2: Tax\n\n${story('2.1', 'Story 1.2, 1.1 (the model)')}`,
  'epics/index.md': '# Epics\n\n- [Epic 1](./epic-1.md)\n',
  'stories/sprint-status.yaml': STATES,
};

describe('epics of BMAD with their states in another file', () => {
  test('have the texts of the epics and the states of the entries', () => {
    const prd = parsePrd(folderOf(BMAD), 'docs');
    expect(prd).toMatchObject({ dialect: 'markdown-stories', project: 'shop' });
    expect(
      prd.stories.map(({ id, status, acceptance, dependsOn, extra }) => [
        id,
        status,
        acceptance,
        dependsOn,
        extra['story key'],
      ]),
    ).toEqual([
      ['story-1.1', 'done', ['1.1 works'], [], '1-1-add-the-model'],
      ['story-1.2', 'pending', ['1.2 works'], ['story-1.1'], '1-2-add-the-total'],
      ['story-2.1', 'pending', ['2.1 works'], ['story-1.2', 'story-1.1'], undefined],
      ['1-3-fix-rounding', 'pending', [], [], undefined],
    ]);
    expect(prd.warnings).toEqual([
      'not read, because it has no story of BMAD: epics/index.md',
      'not in sprint-status.yaml, so their states are those of the epics: story-2.1',
    ]);
  });

  test('are marked in the file of the states, and without an entry in the epics', () => {
    const bytes = folderOf(BMAD);
    const { stories } = parsePrd(bytes, 'docs');
    const landed = stories.filter(({ status }) => status !== 'done');
    const { bytes: marked } = markDone(bytes, 'docs', { landed, before: [] });
    const decoder = new TextDecoder();
    expect(changedFiles(bytes, marked!, 'docs').map(({ name, after }) => [name, decoder.decode(after)])).toEqual([
      ['epics/epic-2.md', BMAD['epics/epic-2.md'].replace('Do 2.1', 'Do 2.1 ✅')],
      ['stories/sprint-status.yaml', STATES.replace('ready-for-dev', 'done').replace('backlog', 'done')],
    ]);
  });

  test('may be marked by their own story alone', () => {
    const own = parsePrd(folderOf(BMAD), 'docs').stories[1]!;
    const judge = (after: string) =>
      judgePrdChange({ before: toBytes(STATES), after: toBytes(after), path: 'sprint-status.yaml', story: own });
    expect(judge(STATES.replace('ready-for-dev', 'done'))?.isOwnMark).toBe(true);
    expect(judge(STATES.replace('backlog', 'done'))?.isOwnMark).toBe(false);
  });

  test('are explained with the file of each line', () => {
    const lines = explainPrd(folderOf(BMAD), 'docs').filter(({ file }) => file === 'stories/sprint-status.yaml');
    expect(lines.map(({ line, story: id, became }) => [line, id, became])).toEqual([
      [1, undefined, 'name of the project'],
      [2, undefined, 'not read'],
      [4, undefined, 'not read'],
      [5, 'story-1.1', 'progress'],
      [6, 'story-1.2', 'progress'],
      [7, '1-3-fix-rounding', 'title and progress'],
    ]);
  });

  test.each<[name: string, files: Record<string, string>, message: string]>([
    [
      'without states',
      { ...BMAD, 'stories/sprint-status.yaml': 'tasks:\n  - a\n' },
      'sprint-status.yaml: The file has no map `development_status`',
    ],
    ['without a story', { 'epics.md': '# Epics\n', 'sprint-status.yaml': STATES }, 'The epics have no stories'],
    [
      'with a story twice',
      { ...BMAD, 'epics/epic-3.md': story('2.1', 'None') },
      'docs/epics/epic-3.md:1: the story of line 1: the id "story-2.1" is already used by epics/epic-2.md',
    ],
    [
      'with a cycle',
      { ...BMAD, 'epics/epic-3.md': `${story('3.1', 'Story 3.2')}${story('3.2', 'Story 3.1')}` },
      'docs/epics/epic-3.md:1: the story of line 1: dependency cycle',
    ],
  ])('%s are refused with file and line', (_name, files, message) => {
    expect(() => parsePrd(folderOf(files), 'docs')).toThrow(message);
  });
});

describe('the text of a folder', () => {
  test('is the same whatever the order of its files', () => {
    const turned = Object.fromEntries(Object.entries(BACKLOG).reverse());
    expect(folderOf(turned)).toEqual(folderOf(BACKLOG));
    expect(isFolderText(folderOf(BACKLOG))).toBe(true);
    expect(isFolderText(toBytes('{"tasks": [{"title": "halo-folder"}]}'))).toBe(false);
  });

  test('can be written by hand, in any order and with spaces', () => {
    const text = `\n { "halo-folder": [ ${JSON.stringify({ name: 'b.md', text: backlogTask(2) })},
      ${JSON.stringify({ text: backlogTask(1), name: 'a.md' })} ] }`;
    expect(parsePrd(toBytes(text), 'prd').stories.map(({ id }) => id)).toEqual(['task-1', 'task-2']);
    expect(filesOfPrd({ bytes: toBytes(text), path: 'prd' })).toEqual(['a.md', 'b.md']);
  });

  test('has the names of what is left out with the reason', () => {
    const left = [{ name: 'link.md', why: 'it is a link' }];
    expect(readFolderText(folderOf({}, left), PATH).left).toEqual(left);
  });
});
