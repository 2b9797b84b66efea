import type { StoryStatus } from '../../core/prd/prd.ts';
import { oneLine } from '../../lib/text.ts';
import { writesNothing, type DraftStory, type MarkdownDialect } from '../dialect.ts';
import { addWarning } from '../json/object-reader.ts';
import { placeOf, remarkOn, type MarkdownDocument } from '../markdown/blocks.ts';
import type { Line } from '../markdown/outline.ts';
import { readSurroundings, textOfLines } from '../markdown/read-surroundings.ts';
import { statusOfWord } from '../story/read-status.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';

/** `- [TASK002](TASK002-pay.md) Pay` below a heading such as `## In Progress`: the task index of Cline's memory bank. */
export const taskIndex: MarkdownDialect = {
  id: 'task-index',
  format: 'markdown',
  title: 'task-index (bullets with ids below headings such as "In Progress")',
  detects: (document) => document.boxes.length === 0 && findTasks(document).length > 0,
  read(document, diagnostics) {
    for (const remark of [...document.ignored, ...document.comments]) addWarning({ diagnostics }, undefined, remark);
    const tasks = findTasks(document);
    addWarning({ diagnostics }, undefined, `halo does not mark this file: ${WHY}`);
    const found = new Set(tasks.map(({ line }) => line));
    const others = document.lines.filter((line) => isTask(line) && !found.has(line));
    if (others.length > 0)
      addWarning({ diagnostics }, undefined, remarkOn(others, 'tasks below headings that are not a status are text'));
    const used = new Set(tasks.flatMap(({ line, below }) => [line, ...below]));
    const surroundings = readSurroundings(document, { sections: [], used, diagnostics });
    return { ...surroundings, stories: renameDoneDuplicates(tasks.map(toStory), diagnostics) };
  },
  write: writesNothing('task-index'),
};

const WHY = 'the heading above a task is its status, so a mark would move lines';

interface Task {
  id: string;
  title: string;
  status: StoryStatus;
  line: Line;
  /** The lines below its bullet. */
  below: Line[];
}

const TASK = /^\[([A-Za-z]{1,12}-?\d{1,9}(?:\.\d{1,4}){0,3})\](?:\(([^)]{0,300})\))?\s*[-–—:]?\s*(\S.*)$/;

/** The bullets that begin with an id, below headings that are nothing but a status. */
function findTasks({ outline }: MarkdownDocument): Task[] {
  return outline.flatMap(({ heading, lines }): Task[] => {
    const status = heading === undefined ? undefined : statusOfWord(heading.text);
    if (status === undefined) return [];
    const tasks: Task[] = [];
    for (const line of lines) {
      const [, id = '', , title = ''] = (isTask(line) && TASK.exec(line.text)) || [];
      if (id !== '') tasks.push({ id, title: oneLine(title), status, line, below: [] });
      else tasks.at(-1)?.below.push(line);
    }
    return tasks;
  });
}

function isTask({ kind, indent, text }: Line): boolean {
  return kind === 'item' && indent < 4 && TASK.test(text);
}

function toStory({ id, title, status, line, below }: Task): DraftStory {
  const file = TASK.exec(line.text)?.[2];
  return {
    id,
    ownId: id,
    title,
    description: textOfLines(below),
    acceptance: [],
    priority: undefined,
    status,
    notes: '',
    dependsOn: [],
    extra: file === undefined ? {} : { file },
    at: placeOf(line),
    mark: { kind: 'none', why: WHY },
  };
}
