import { realpath } from 'node:fs/promises';
import type { Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { RunState } from '../../core/run/state.ts';
import { sortStories } from '../../core/run/story-order.ts';
import type { Cli, Define } from '../cli.ts';
import { parsePrdFile, readPrd, type NamedPrd, requireNamedPrd, listPrdFolders } from '../options/read-prd.ts';
import { runWords } from '../../view/run-words.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { join } from 'node:path';
import { toHaloError } from '../../core/failure/errors.ts';
import { isPrdName, NAME_RULE, PRD_FILE } from '../../core/prd/prd-names.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

export const defineList: Define = (command, cli) => {
  command
    .summary('list the PRDs of this repository')
    .description('Lists the named PRDs with their progress. Shows an error for a PRD that cannot be read.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
};

const LIST_HELP = `
Examples:
  halo prd list
  halo prd list --json | jq -r '.[].name'

See also: halo prd new, halo prd status`;

type Listed = PrdFileProgress | (NamedPrd & { problem: string });

async function list(flags: { json?: true }, cli: Cli): Promise<void> {
  const prds = await listPrdFolders(cli.cwd);
  const listed = await cli.withOperations((operations) => Promise.all(prds.map((prd) => look(prd, operations, cli))));
  if (flags.json) return cli.printJson(listed);
  if (listed.length === 0)
    return cli.note(
      `No named PRDs yet: \`halo prd new <name>\` creates ${join('.halo', 'prds')}/<name>. Other PRD files need no name: \`halo run <file>\`.`,
    );
  const heading = ['NAME', 'DONE', 'ACTIVE', 'PROJECT'].map((text) => ({ text }));
  await cli.print(...table([heading, ...listed.map(rowOf)], { paint: cli.paint, width: terminalColumns(cli) }));
}

async function look(prd: NamedPrd, operations: Pick<Operations, 'listRuns'>, cli: Cli): Promise<Listed> {
  if (!isPrdName(prd.name)) return { ...prd, problem: `not a name of a PRD: ${NAME_RULE}` };
  return readPrdProgress(prd, operations, cli).catch((error: unknown) => ({
    ...prd,
    problem: toHaloError(error).message.replaceAll(prd.path, PRD_FILE),
  }));
}

function rowOf(prd: Listed): Cell[] {
  const name: Cell = { text: safeLine(prd.name, 64), tone: 'strong' };
  if ('problem' in prd) return [name, { text: '?' }, { text: '-' }, { text: safeLine(prd.problem), tone: 'warn' }];
  return [
    name,
    { text: `${prd.done}/${prd.total}`, tone: prd.done === prd.total ? 'good' : 'plain' },
    { text: prd.active.length === 0 ? '-' : safeLine(prd.active.map(({ id }) => id).join(', '), 40) },
    { text: safeLine(prd.project) },
  ];
}

export const defineStatus: Define = (command, cli) => {
  command
    .summary('show the progress of a PRD')
    .description('Shows how many stories of a PRD are done, the active story, and the newest run.')
    .argument('[name]', 'the PRD (default: the only named PRD)')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', STATUS_HELP)
    .action((name: string | undefined, flags: { json?: true }) => showStatus(name, flags, cli));
};

const STATUS_HELP = `
Examples:
  halo prd status
  halo prd status checkout --json | jq '.active[].id'

See also: halo prd list, halo status`;

async function showStatus(wanted: string | undefined, flags: { json?: true }, cli: Cli): Promise<void> {
  const named = await requireNamedPrd(cli.cwd, wanted);
  const progress = await cli.withOperations((operations) => readPrdProgress(named, operations, cli));
  if (flags.json) return cli.printJson(progress);
  const { name, path, project, done, total, active, next, run } = progress;
  const title = (story: { id: string; title: string }) => `${safeLine(story.id, 40)}  ${safeLine(story.title)}`;
  const percent = total === 0 ? '' : ` (${Math.floor((100 * done) / total)} %)`;
  await cli.print(
    `prd      ${name}  ${path}`,
    ...(project === '' ? [] : [`project  ${safeLine(project)}`]),
    `done     ${done} of ${total} stories${percent}`,
    ...(active.length === 0 ? ['active   none'] : active.map((story) => `active   ${title(story)}`)),
    ...(active.length > 0 || next === undefined ? [] : [`next     ${title(next)}`]),
    ...(run === undefined ? [] : [`run      ${run.runId}  ${run.state}`]),
  );
}

interface StoryName {
  id: string;
  title: string;
}

/** The progress of a PRD. */
interface PrdFileProgress extends NamedPrd {
  project: string;
  done: number;
  total: number;
  /** Stories that have started but not passed, according to the file, and those that the newest run is executing. */
  active: StoryName[];
  /** The story that the next run starts with: a started one, else the one with the lowest priority. */
  next: StoryName | undefined;
  /** The newest run of the file; `state` is the state in `halo ls`. */
  run: { runId: string; status: RunState['status']; stopReason: RunState['stopReason']; state: string } | undefined;
}

/** Reads a PRD, and its newest run. Throws PRD_INVALID and PRD_UNREADABLE. */
async function readPrdProgress(
  { name, path }: NamedPrd,
  operations: Pick<Operations, 'listRuns'>,
  cli: Cli,
): Promise<PrdFileProgress> {
  const { project, stories } = await parsePrdFile(await readPrd(path, cli));
  const newest = await findNewestRun(operations, new Set([path, await realpath(path)]));
  const ordered = sortStories(stories);
  // Not every dialect has a field for a started story.
  const active = ordered.filter(
    ({ id, status }) => status === 'in_progress' || (status === 'pending' && isAt(newest, id)),
  );
  const open = ordered.filter(({ status }) => status === 'in_progress' || status === 'pending');
  const done = stories.filter(({ status }) => status === 'done').length;
  const run = newest && factsOf(newest);
  return { name, path, project, done, total: stories.length, active: active.map(named), next: open.map(named)[0], run };
}

/** A run knows the path by which its file was submitted. */
async function findNewestRun(
  operations: Pick<Operations, 'listRuns'>,
  paths: ReadonlySet<string>,
): Promise<ListedRun | undefined> {
  const found = await Promise.all([...paths].map((prd) => operations.listRuns({ prd, newest: 1 })));
  const runs = found.flatMap(({ runs }) => runs).filter(({ prdPath }) => paths.has(prdPath));
  return runs.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0];
}

function isAt(run: RunState | undefined, id: string): boolean {
  if (run === undefined || run.status === 'ended') return false;
  return run.stories.some((story) => story.id === id && story.progress === 'in_progress');
}

function factsOf(run: ListedRun) {
  const { runId, status, stopReason } = run;
  return { runId, status, stopReason, state: runWords(run).text };
}

function named({ id, title }: StoryName): StoryName {
  return { id, title };
}
