import { HaloError } from '../failure/errors.ts';
import type { RunState, StoryState } from '../run/state.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { findStoryFindings } from './story-findings.ts';

/** What of a change a person confirms by name before it is approved or lands. */
export const FLAGS = ['secret', 'hidden', 'tests', 'protected', 'binary'] as const;

export type Flag = (typeof FLAGS)[number];

/** What a person has seen and confirms. */
export interface Confirmation {
  confirm?: Flag[] | undefined;
  /** The commit whose flags were shown; another one is refused. */
  commit?: string | undefined;
}

/** What of the changes of stories a person has to confirm, a sentence each. Safe to print. */
export function listFlags(stories: readonly StoryState[]): { flag: Flag; text: string }[] {
  return stories.flatMap((story) =>
    findStoryFindings(story).flatMap(({ label, text }) => {
      const flag = FLAGS.find((each) => each === label);
      const what = label === 'tests' ? `tests: ${text}` : text;
      return flag === undefined ? [] : [{ flag, text: `${safeLine(story.id)}: ${what}` }];
    }),
  );
}

/** The flags of stories, each once. */
export function flagsOf(stories: readonly StoryState[]): Flag[] {
  const found = new Set(listFlags(stories).map(({ flag }) => flag));
  return FLAGS.filter((flag) => found.has(flag));
}

/** The stories whose changes land with a run. */
export function landingStories({ stories }: Pick<RunState, 'stories'>): StoryState[] {
  return stories.filter(({ progress, commit }) => progress === 'passed' && commit !== undefined);
}

/** Those of them that no person has confirmed, by approving exactly their commit. */
export function unconfirmedStories(run: Pick<RunState, 'stories'>): StoryState[] {
  return landingStories(run).filter(({ confirmed }) => confirmed !== true);
}

/**
 * Those of a run and of the runs that it continues whose change may have a secret, and whose commits no person has confirmed
 * for a push: they are not sent to a forge, which keeps what it was sent.
 */
export function secretsToConfirm(
  run: Pick<RunState, 'stories' | 'pullRequested'>,
  continued: readonly Pick<RunState, 'stories'>[],
): StoryState[] {
  const { confirmed = [] } = run.pullRequested ?? {};
  return [run, ...continued]
    .flatMap(unconfirmedStories)
    .filter((story) => flagsOf([story]).includes('secret') && !confirmed.includes(story.commit ?? ''));
}

/** A decision about the changes of stories, up to a commit. */
export interface FlaggedDecision {
  verb: 'approve' | 'land' | 'pr';
  /** The flags that it is about; without it, all. */
  flags?: readonly Flag[];
  runId: string;
  stories: readonly StoryState[];
  commit: string;
  /** The story, if the decision is about one. */
  story?: string;
  /** The other runs whose changes land as well. */
  continued?: readonly string[];
}

/** Throws UNCONFIRMED, with all flags, unless each is confirmed, and if the person has seen another commit. */
export function assertConfirmed(
  { verb, flags: asked = FLAGS, runId, stories, commit, story, continued = [] }: FlaggedDecision,
  { confirm = [], commit: seen = commit }: Confirmation = {},
): void {
  const flags = flagsOf(stories).filter((flag) => asked.includes(flag));
  if (seen === commit && flags.every((flag) => confirm.includes(flag))) return;
  const what = story === undefined ? `run ${runId}` : `story ${safeLine(story)} of run ${runId}`;
  const about = [
    ...(seen === commit ? [] : [`which is at ${commit.slice(0, 7)} now and not at ${safeLine(seen).slice(0, 7)}`]),
    ...(continued.length === 0 ? [] : [`which continues ${continued.join(' and ')}`]),
  ];
  const found = listFlags(stories).flatMap(({ flag, text }) => (flags.includes(flag) ? [text] : []));
  const of = story === undefined ? '' : ` --story ${printableShellWord(story)}`;
  const others = continued.map((other) => ` and \`halo diff ${other}\``).join('');
  throw new HaloError(
    'UNCONFIRMED',
    `The change of ${what}${about.length === 0 ? '' : `, ${about.join(' and ')},`} has to be confirmed${found.length === 0 ? '' : `: ${found.join('; ')}`}.`,
    {
      hint: `Review it with \`halo diff ${runId}${of}\`${others}, then confirm what it has: \`halo ${verb} ${runId}${of}${flags.length === 0 ? '' : ` --confirm ${flags.join(',')}`}\`.`,
    },
  );
}
