import type { Config } from '../../config/config.ts';
import type { Setting } from '../../config/settings.ts';
import { registriesOf, describeUnreachable } from '../../core/command-needs.ts';
import type { Story } from '../../core/prd/prd.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { isUnfinished, type RunState } from '../../core/run/state.ts';
import { formatStoryRanges } from '../../core/run/story-ranges.ts';
import { onlyTestFilesOf } from '../../core/review/tests-first.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { listSome } from '../../lib/text.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { searchMissingContents } from '../../git/commit/read-commits.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';

/** Warns if setup downloads packages that the network rules do not allow. */
export function warnOfNetwork({ setup, network }: Pick<Config, 'setup' | 'network'>): string[] {
  const why = describeUnreachable(setup, network);
  return why === undefined ? [] : [`Setup downloads packages (${registriesOf(setup).join(', ')}), but ${why}.`];
}

/** Warns of settings of the repository that need a right that the request lacks. */
export function warnOfIgnored(ignored: readonly Setting[]): string[] {
  return ignored.map(
    ({ key, origin }) =>
      `${origin}: ${key} does not count for this run: the request lacks the right that it needs. Set it in config.toml of the server, or name it in [server] options there.`,
  );
}

/** Warns of a run without gates, in which the report of the agent decides. */
export function warnOfTrust(source: string, { land }: Pick<Config, 'land'>): string {
  const even = land.unchanged === 'trust' ? ', even if it changed no file' : '';
  return `No gates are configured for ${source}: stories count as done when the agent reports success${even}. Set \`gates\` in halo.toml; \`halo init\` writes one.`;
}

/** Warns about submodules and Git LFS files, whose content the commit does not have. */
export async function warnOfContents(place: { gitDir: string; commit: string }): Promise<string[]> {
  const { submodules, pointers } = await searchMissingContents(place);
  const of = (paths: string[]) =>
    paths.slice(0, 3).join(', ') + (paths.length > 3 ? ` and ${paths.length - 3} more` : '');
  return [
    ...(submodules.length === 0
      ? []
      : [
          `Submodules are not fetched (${of(submodules)}): setup, agents and gates find their folders empty. Make them part of the repository, or have setup download what is needed.`,
        ]),
    ...(pointers.length === 0
      ? []
      : [
          `Files in Git LFS are not fetched (${of(pointers)}): setup, agents and gates find the text of their pointers. Have setup download what the gates need.`,
        ]),
  ];
}

/** Warns of stories whose tests can only be in files that the commit has already: tests first are new files. */
export async function warnOfTakenTests(
  place: { gitDir: string; commit: string },
  { first, files }: Pick<Config['tests'], 'first' | 'files'>,
  stories: readonly Story[],
): Promise<string[]> {
  if (first === 'off') return [];
  const wanted = stories.filter(isToDo).map((story) => ({ story, only: onlyTestFilesOf(files, story) }));
  const paths = new Set(wanted.flatMap(({ only }) => only ?? []));
  if (paths.size === 0) return [];
  const there = new Set((await listFiles(place, ({ path }) => paths.has(path))).map(({ path }) => path));
  const taken = wanted.filter(({ only }) => only?.every((path) => there.has(path)));
  if (taken.length === 0) return [];
  const named = taken.map(({ story, only = [] }) => `${safeLine(story.id, 40)} (${only.join(', ')})`);
  return [
    `The commit already has the only files that tests.files allows for the tests of ${listSome(named, 3)}. Tests first are written to new files, so that these stories cannot pass: give them other ids, add a pattern such as tests/test_{id}_*.py to tests.files, or turn off tests.first for them.`,
  ];
}

/** Maximum number of open runs to inspect, newest first. */
const MAX_RUNS = 50;

/**
 * Warns if other runs of a repository start from the same commit, because only one of them can be landed without a merge,
 * and if one of them works on the same stories.
 */
export async function warnOfOpenRuns(
  store: Pick<RunCatalog, 'list'>,
  { source, mirror, branch }: RunRepo,
  stories: readonly Story[],
): Promise<string[]> {
  // An unreadable journal is reported elsewhere.
  const { runs } = await store.list({ repo: source, open: MAX_RUNS, ended: 0 });
  const open = runs.filter(({ repo, status, dry }) => repo.mirror === mirror && status !== 'ended' && !dry);
  const [newest] = open;
  if (newest === undefined) return [];
  const others = open.length === 1 ? 'Another run of this repository is' : `${open.length} runs of this repository are`;
  const where = branch === undefined ? 'the same commit' : branch;
  return [
    `${others} not done yet: ${listed(open)}. This one starts from ${where} as it is now, so that only the first of them to land needs no merge; \`halo submit --after ${newest.runId}\` builds on that run instead.`,
    ...open.flatMap((state) => warnOfSameStories(state, stories)),
  ];
}

/**
 * Warns of stories that are not run because their marks in the PRD file come from a run in another repository. Inspects
 * runs of the same user, the newest.
 */
export async function warnOfForeignMarks(
  store: Pick<RunCatalog, 'list'>,
  { repo, prdPath, user }: { repo: RunRepo; prdPath: string; user: string },
  stories: readonly Story[],
): Promise<string[]> {
  const marked = stories.filter(({ status }) => status === 'done');
  if (marked.length === 0) return [];
  const { runs } = await store.list({ prd: prdPath, user, newest: MAX_RUNS });
  const hasPassed = (run: RunState, { id, title }: Story) =>
    run.stories.some((story) => story.id === id && story.title === title && story.progress === 'passed');
  const [here, elsewhere] = [true, false].map((isHere) =>
    runs.filter((run) => (run.repo.mirror === repo.mirror) === isHere && !run.dry),
  ) as [RunState[], RunState[]];
  const foreign = marked.filter((story) => !here.some((run) => hasPassed(run, story)));
  const skipped = foreign.filter((story) => elsewhere.some((run) => hasPassed(run, story)));
  const [first] = skipped;
  if (first === undefined) return [];
  const from = elsewhere.find((run) => hasPassed(run, first));
  const them = skipped.length === 1 ? 'it' : 'them';
  return [
    `${formatStoryRanges(skipped, stories)} will not run: ${prdPath} marks ${them} as done since run ${from?.runId}, in another repository (${from?.repo.source}). To run ${them} here as well, submit a copy of the PRD without ${skipped.length === 1 ? 'its mark' : 'their marks'}.`,
  ];
}

/** Stories are the same if id and title are: ids such as US-001 are in many PRDs. */
function warnOfSameStories({ runId, stories, selected }: RunState, mine: readonly Story[]): string[] {
  const same = stories
    .filter((story) => isUnfinished(story) && (selected?.includes(story.id) ?? true))
    .filter(({ id, title }) => mine.some((story) => story.id === id && story.title === title && isToDo(story)));
  if (same.length === 0) return [];
  const some = formatStoryRanges(same, stories);
  return [`Run ${runId} already works on ${some}: this run implements the same a second time.`];
}

function isToDo({ status }: Story): boolean {
  return status === 'pending' || status === 'in_progress';
}

function listed(runs: readonly RunState[]): string {
  const named = runs.slice(0, 3).map(({ runId, status }) => `${runId} (${status})`);
  return runs.length > 3 ? `${named.join(', ')} and ${runs.length - 3} more` : named.join(', ');
}
