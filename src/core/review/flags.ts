import { HaloError, type Unconfirmed } from '../failure/errors.ts';
import type { NotedCommit, RunState, StoryState } from '../run/state.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { findStoryFindings, type NotedFacts } from './story-findings.ts';

/** What of a change a person confirms by name before it is approved or lands. */
export const FLAGS = ['secret', 'hidden', 'tests', 'protected', 'binary'] as const;

export type Flag = (typeof FLAGS)[number];

/** What a person has seen and confirms. */
export interface Confirmation {
  confirm?: Flag[] | undefined;
  /** The commit whose flags were shown; another one is refused. */
  commit?: string | undefined;
}

/** The change of a story: one of its commits, or that of its last attempt. */
export type Change = NotedFacts & { id: string };

/** What of changes a person has to confirm, a sentence each. Safe to print. */
export function listFlags(changes: readonly Change[]): { flag: Flag; text: string }[] {
  return changes.flatMap((change) =>
    findStoryFindings(change).flatMap(({ kind, text }) => {
      const flag = FLAGS.find((each) => each === kind);
      const what = kind === 'tests' ? `tests: ${text}` : text;
      return flag === undefined ? [] : [{ flag, text: `${safeLine(change.id)}: ${what}` }];
    }),
  );
}

/** The flags of changes, each once. */
export function flagsOf(changes: readonly Change[]): Flag[] {
  const found = new Set(listFlags(changes).map(({ flag }) => flag));
  return FLAGS.filter((flag) => found.has(flag));
}

/**
 * The commits that land with a run: those with findings, whatever became of their stories, and the others of its stories. A
 * later attempt that made no commit says nothing about the commit that its story has.
 */
export function landingChanges({ stories, noted = [] }: Pick<RunState, 'stories' | 'noted'>): NotedCommit[] {
  const others = stories.filter(
    (story): story is StoryState & NotedCommit =>
      story.progress === 'passed' && story.commit !== undefined && !noted.some(({ commit }) => commit === story.commit),
  );
  return [...noted, ...others];
}

/** Those of them that no person has confirmed, by approving exactly their commit. */
export function unconfirmedChanges(run: Pick<RunState, 'stories' | 'noted'>): NotedCommit[] {
  return landingChanges(run).filter(({ confirmed }) => confirmed !== true);
}

/**
 * Those of a run and of the runs that it continues which may have a secret, and which no person has confirmed for a push:
 * they are not sent to a forge, which keeps what it was sent.
 */
export function secretsToConfirm(
  run: Pick<RunState, 'stories' | 'noted' | 'pullRequested'>,
  continued: readonly Pick<RunState, 'stories' | 'noted'>[],
): NotedCommit[] {
  const { confirmed = [] } = run.pullRequested ?? {};
  return [run, ...continued]
    .flatMap(unconfirmedChanges)
    .filter((change) => flagsOf([change]).includes('secret') && !confirmed.includes(change.commit));
}

/** A decision about changes, up to a commit. */
interface FlaggedDecision {
  verb: 'approve' | 'land' | 'pr';
  /** The flags that it is about; without it, all. */
  flags?: readonly Flag[];
  runId: string;
  /** Of this run. */
  changes: readonly Change[];
  commit: string;
  /** The story, if the decision is about one. */
  story?: string;
  /** The other runs whose changes land as well. */
  continued?: readonly { runId: string; changes: readonly Change[] }[];
}

/** Throws UNCONFIRMED, with all flags, unless each is confirmed, and if the person has seen another commit. */
export function assertConfirmed(
  { verb, flags: asked = FLAGS, runId, changes, commit, story, continued = [] }: FlaggedDecision,
  { confirm = [], commit: seen = commit }: Confirmation = {},
): void {
  const found = [{ runId, changes }, ...continued].flatMap((each) =>
    listFlags(each.changes).flatMap(({ flag, text }) =>
      asked.includes(flag) ? [{ run: each.runId, flag, text }] : [],
    ),
  );
  const flags = FLAGS.filter((flag) => found.some((each) => each.flag === flag));
  if (seen === commit && flags.every((flag) => confirm.includes(flag))) return;
  const what = story === undefined ? `run ${runId}` : `story ${safeLine(story)} of run ${runId}`;
  const about = [
    ...(seen === commit ? [] : [`which is at ${commit.slice(0, 7)} now and not at ${safeLine(seen).slice(0, 7)}`]),
    ...(continued.length === 0 ? [] : [`which continues ${continued.map((other) => other.runId).join(' and ')}`]),
  ];
  const of = story === undefined ? '' : ` --story ${printableShellWord(story)}`;
  const others = continued.map((other) => ` and \`halo diff ${other.runId}\``).join('');
  throw new HaloError(
    'UNCONFIRMED',
    `The change of ${what}${about.length === 0 ? '' : `, ${about.join(' and ')},`} has to be confirmed${found.length === 0 ? '' : `: ${found.map(({ text }) => text).join('; ')}`}.`,
    {
      unconfirmed: { commit, found },
      hint: `Review it with \`halo diff ${runId}${of}\`${others}, then confirm what it has: \`halo ${verb} ${runId}${of}${flags.length === 0 ? '' : ` --confirm ${flags.join(',')}`}\`.`,
    },
  );
}

/**
 * What confirms all that a refused decision needs, such as flags of a run that this one continues. Undefined if the refusal
 * is about another commit than the person was shown: they have not seen that change, so they cannot confirm it.
 */
export function confirmationOfAll(
  shown: Confirmation,
  { commit, found }: Unconfirmed,
): { commit: string; confirm: Flag[] } | undefined {
  if (shown.commit !== commit) return undefined;
  return { commit, confirm: FLAGS.filter((each) => found.some(({ flag }) => flag === each)) };
}
