import type { ListedRun } from '../../../api/runs/limited-runs.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { TopView, TopState } from '../model.ts';
import type { Column, Listing, Row, TableCell } from '../table-lines.ts';
import type { PrdEntry } from './prd-files.ts';
import { runWords } from '../../../view/run-words.ts';
import { cellOf } from '../../../view/story-words.ts';

/** The PRDs of the repository or, in the place of a PRD, its stories. */
export function prdListing(state: TopState, { prd }: Pick<TopView, 'prd'>): Listing {
  const entries = state.prds?.entries ?? [];
  const opened = entries.find(({ path }) => path === prd);
  if (opened !== undefined) return storiesOf(opened, findNewestRun(state, opened));
  const columns: Column[] = [
    { name: 'PRD', max: 40 },
    { name: 'STATE', max: 30 },
    { name: 'DONE', order: 1 },
    { name: 'RUN', order: 3 },
    { name: 'NEXT', max: 20, order: 2 },
    { name: 'PROJECT', max: 60 },
  ];
  const rows = entries.map((entry): Row => {
    const run = findNewestRun(state, entry);
    const open = openStories(entry);
    const done = entry.stories.filter(({ status }) => status === 'done').length;
    return {
      id: entry.path,
      prd: entry.path,
      ...(run !== undefined && { runId: run.runId }),
      cells: [
        { text: safeLine(entry.name, 80), tone: 'strong' },
        prdState(entry, run),
        { text: entry.problem === undefined ? `${done}/${entry.stories.length}` : '?' },
        { text: run?.runId ?? '-' },
        { text: safeLine(open[0]?.id ?? '-', 40) },
        entry.problem === undefined
          ? { text: safeLine(entry.project, 100) }
          : { text: safeLine(entry.problem, 300), tone: 'warn' },
      ],
    };
  });
  const empty = state.prds === undefined ? 'Reading the PRDs …' : 'No PRD in this repository yet. n creates one.';
  return { columns, rows, empty };
}

/** The newest run of a PRD file. */
export function findNewestRun(
  { runs = [] }: Pick<TopState, 'runs'>,
  { path, realPath }: PrdEntry,
): ListedRun | undefined {
  return runs.find(({ prdPath }) => prdPath === path || prdPath === realPath);
}

/** The stories that a run would do, the next one first. */
export function openStories({ stories }: PrdEntry): PrdEntry['stories'] {
  return stories.filter(({ status }) => status === 'pending' || status === 'in_progress');
}

/** `ready`: it can be started, and no run of it exists. */
function prdState(entry: PrdEntry, run: ListedRun | undefined): TableCell {
  if (entry.problem !== undefined) return { text: '! invalid', tone: 'warn' };
  if (run !== undefined) return cellOf(runWords(run));
  return openStories(entry).length === 0 ? { text: '✓ done', tone: 'good' } : { text: '· ready' };
}

const MARKS: Record<PrdEntry['stories'][number]['status'], string> = {
  pending: '·',
  in_progress: '»',
  blocked: '-',
  done: '✓',
  skipped: '-',
};

function storiesOf(entry: PrdEntry, run: ListedRun | undefined): Listing {
  const columns: Column[] = [
    { name: 'STORY', max: 20 },
    { name: 'STATE', max: 20 },
    { name: 'PRIORITY', order: 2 },
    { name: 'CRITERIA', order: 1 },
    { name: 'TITLE' },
  ];
  const rows = entry.stories.map(({ id, title, status, criteria, priority }): Row => ({
    id,
    prd: entry.path,
    ...(run !== undefined && { runId: run.runId }),
    cells: [
      { text: safeLine(id, 40), tone: 'strong' },
      { text: `${MARKS[status]} ${status.replace('_', ' ')}`, tone: status === 'done' ? 'good' : 'plain' },
      { text: priority === undefined ? '-' : String(priority) },
      { text: String(criteria) },
      { text: safeLine(title) },
    ],
  }));
  return { columns, rows, empty: safeLine(entry.problem ?? 'The PRD has no story.', 400) };
}
