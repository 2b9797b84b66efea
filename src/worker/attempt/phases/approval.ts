import { readAnswer } from '../../../agents/answer.ts';
import type { Config } from '../../../config/config.ts';
import { NO_USAGE } from '../../../core/agent.ts';
import {
  blockingOf,
  describeReview,
  findingText,
  MAX_REVIEW_ROUNDS,
  reviewerName,
  type AgentReview,
} from '../../../core/review/agent-review.ts';
import type { FeedbackComment } from '../../../core/review/feedback.ts';
import type { HeldCommit } from '../../../core/journal/event-parts.ts';
import { storyOf, type Approval, type StoryState } from '../../../core/run/state.ts';
import { describeHidden } from '../../../core/text/hidden-places.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { holdCommit, openHeldRepository, readHeldCommit } from '../../../git/commit/held-commits.ts';
import type { FileChange } from '../../../git/import/import-tree.ts';
import { sendCommit } from '../../../git/mirror/send-commit.ts';
import {
  findNewDotFolders,
  findProtected,
  guardGlobs,
  namesOf,
  PROTECTED_GROUPS,
  readLinks,
} from '../../../git/protect/protected-paths.ts';
import { readBytesAt } from '../../../git/repository/inspect-repo.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { judgePrdChange, type PrdChange } from '../../../prd/judge-change.ts';
import { readNewestProof } from '../../proof/proof-files.ts';
import { defined } from '../../../lib/guards.ts';
import { AttemptEnded, type AttemptOutcome } from '../attempt-outcome.ts';
import type { Attempt, AttemptInputs } from '../open-attempt.ts';
import type { Candidate, Work, WorkOrigin } from '../work.ts';
import { mergeOntoTip } from './land-candidate.ts';

const MAX_NAMED_PATHS = 5;

/**
 * Keeps a commit that passed its gates until a person decides, and ends the attempt with NEEDS_HUMAN. That happens if the
 * commit changes protected paths, adds a possible secret or hidden characters where the configuration asks for approval,
 * if a reviewer objects to it or failed, or if every story needs approval. What a reviewer objects to is sent back first,
 * a few times. A change that a person has approved is held again only if a merge moved it into files
 * that they did not see.
 */
export async function holdForApproval(attempt: Attempt, work: Work, review: AgentReview | undefined): Promise<void> {
  const { resources, identity } = attempt;
  const end = await judgeHold(attempt, work, review);
  if (end === undefined) return;
  const { candidateDir, mirrorDir } = resources;
  const { runId, storyKey } = identity;
  const { commit } = work.candidate;
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit });
  throw new AttemptEnded(end);
}

/** How the attempt ends if its change may not land now; undefined if it may. Nothing is kept yet. */
export async function judgeHold(
  attempt: Attempt,
  { candidate, origin }: Work,
  review: AgentReview | undefined,
): Promise<AttemptOutcome | undefined> {
  const { config, inputs } = attempt;
  const { approval } = origin;
  if (!changesUnseen(candidate, approval)) return undefined;
  const guarded = await judgePaths(attempt, candidate);
  const hold = findHold(candidate, { guarded, approval, config, review });
  if (hold === undefined) return undefined;
  const { summary, ...held } = hold;
  const { commit } = candidate;
  const sentBack = findSendBack(review, storyOf(inputs.state, inputs.story.id));
  const asks = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN' } as const;
  return { ...asks, summary, held: { commit, ...held }, ...defined({ sentBack }) };
}

/** What a reviewer wants changed, unless a person is to decide: the review failed, or the story was sent back often enough. */
export function findSendBack(
  review: AgentReview | undefined,
  { feedback = [] }: Pick<StoryState, 'feedback'>,
): AttemptOutcome['sentBack'] {
  const rounds = feedback.filter(({ source }) => source === 'reviewer').length;
  if (review === undefined || review.failed !== undefined || rounds >= MAX_REVIEW_ROUNDS) return undefined;
  const blocking = blockingOf(review);
  if (blocking.length === 0) return undefined;
  const comments = blocking.flatMap(({ path, line, criterion, text }): FeedbackComment[] => {
    const about = criterion === undefined ? '' : ` (criterion ${criterion})`;
    return path === undefined ? [] : [{ path, side: 'new', ...defined({ line }), text: `${text}${about}` }];
  });
  const general = blocking.filter(({ path }) => path === undefined).map((each) => `- ${findingText(each)}`);
  return { text: general.join('\n'), comments, author: `the reviewer ${reviewerName(review)}` };
}

/** The part of an approval that decides whether a commit is held again. */
type SeenPaths = Pick<NonNullable<WorkOrigin['approval']>, 'by' | 'paths'>;

/** The facts other than the candidate that decide whether it is held. */
export interface HoldFacts {
  guarded: JudgedPaths;
  approval: SeenPaths | undefined;
  config: Pick<Config, 'approval' | 'land' | 'secrets'>;
  review?: AgentReview | undefined;
}

/** Why a candidate needs the approval of a person, and for which paths; undefined if it may land. */
export function findHold(
  candidate: Pick<Candidate, 'changed' | 'suspects' | 'hidden'>,
  { guarded, approval, config, review }: HoldFacts,
): (Omit<HeldCommit, 'commit'> & { summary: string }) | undefined {
  if (!changesUnseen(candidate, approval)) return undefined;
  const secret = config.secrets.added === 'block' ? candidate.suspects.map(({ path }) => path) : [];
  const paths = [...new Set([...guarded.paths, ...secret])];
  const hidden = config.land.hiddenCharacters === 'block' ? candidate.hidden : undefined;
  const objects = review !== undefined && (review.failed !== undefined || blockingOf(review).length > 0);
  if (paths.length === 0 && hidden === undefined && !objects && config.approval.mode !== 'story') return undefined;
  const unseen = approval && unseenPaths(candidate, approval);
  const reasons = [
    ...(approval && unseen ? [`since ${approval.by} approved it, the merge moved it to ${quotePaths(unseen)}`] : []),
    ...(guarded.named.length === 0 ? [] : [`it changes protected paths: ${listPaths(guarded.named)}`]),
    ...(guarded.prds.length === 0 ? [] : [`it changes ${listPaths(guarded.prds)}`]),
    ...(hidden === undefined ? [] : [`it adds ${describeHidden(hidden)}`]),
    ...(objects ? [describeObjection(review)] : []),
    ...(secret.length === 0 ? [] : [`it adds what looks like a secret: ${quotePaths(secret)}`]),
  ];
  const always = 'gates passed; waiting for approval (approval.mode = "story")';
  const named = [
    ...(guarded.named.length === 0 ? [] : (['protected'] as const)),
    ...(hidden === undefined ? [] : (['hidden'] as const)),
  ];
  const summary = reasons.length === 0 ? always : `the gates pass, but ${reasons.join('; ')}`;
  return { paths, summary, ...(named.length > 0 && { named }) };
}

function describeObjection(review: AgentReview): string {
  if (review.failed !== undefined) return `the reviewer ${reviewerName(review)} gave ${describeReview(review)}`;
  const blocking = blockingOf(review);
  const first = blocking.slice(0, 1).map(findingText).join('');
  const more = blocking.length === 1 ? '' : ` (and ${blocking.length - 1} more)`;
  return `the reviewer ${reviewerName(review)} objects: ${safeLine(first, 300)}${more}`;
}

function changesUnseen(candidate: Pick<Candidate, 'changed'>, approval: SeenPaths | undefined): boolean {
  return approval === undefined || unseenPaths(candidate, approval).length > 0;
}

function unseenPaths({ changed }: Pick<Candidate, 'changed'>, { paths }: SeenPaths): string[] {
  return changed.map(({ path }) => path).filter((path) => !paths.has(path));
}

function quotePaths(paths: string[]): string {
  return listPaths(paths.map((path) => safeLine(path)));
}

function listPaths(texts: string[]): string {
  const more = texts.length > MAX_NAMED_PATHS ? [`${texts.length - MAX_NAMED_PATHS} more`] : [];
  return [...texts.slice(0, MAX_NAMED_PATHS), ...more].join(', ');
}

/** Opens the commit that a person approved, merged onto what landed since. */
export async function openApproved(attempt: Attempt, { commit, by }: Approval): Promise<Work> {
  const { worker, identity, inputs, resources } = attempt;
  const { mirrorDir, candidateDir } = resources;
  const { location } = identity;
  const heldDir = await openHeldRepository(mirrorDir);
  const { parent, tree, changed } = await readHeldCommit(heldDir, commit);
  // Merges and gates read it from the attempt's own repository.
  await resources.exposeCommit(parent);
  await sendCommit({ from: heldDir, stores: [candidateDir], commit });
  const [proof, summary] = await Promise.all([readNewestProof(worker.store, location), readSummary(attempt)]);
  const origin: WorkOrigin = {
    startedFrom: proof?.startedFrom ?? parent,
    startedAt: proof?.startedAt ?? inputs.startedAt,
    usage: NO_USAGE,
    approval: { by, paths: new Set(changed.map(({ path }) => path)), used: proof?.usage },
  };
  const { locked } = storyOf(inputs.state, inputs.story.id);
  // The person has seen the possible secrets and hidden characters.
  const candidate = { commit, parent, tree, changed, suspects: [], hidden: undefined };
  return mergeOntoTip(attempt, { candidate, origin, summary, gatesFolder: 'gates', merges: 0, locked });
}

/** The summary that the agent gave when it ended. */
async function readSummary({ worker, identity }: Attempt): Promise<string> {
  const outcome = readAnswer(await worker.store.readArtifact(identity.location, 'result.json'));
  return outcome.kind === 'answer' ? outcome.answer.summary : '';
}

/** What of an attempt decides about its paths. */
interface PathRules extends Pick<Attempt, 'signal'> {
  resources: Pick<Attempt['resources'], 'candidateDir'>;
  config: { land: Pick<Attempt['config']['land'], 'protect'> };
  inputs: Pick<AttemptInputs, 'story'> & { state: Pick<AttemptInputs['state'], 'repo'> };
}

type ChangedCommit = Pick<Candidate, 'commit' | 'parent' | 'changed'>;

/** The changes of a story that need a person's approval. */
export interface JudgedPaths {
  /** In the order of the changes. */
  paths: string[];
  /** Display names of the paths without PRDs, with the git setting that refers to them. */
  named: string[];
  /** Descriptions of changed PRDs, such as `prd.json: marks US-002 as done`. */
  prds: string[];
}

const LINK = '120000';
const MAX_SHOWN_CHANGES = 3;

/**
 * Compares what a candidate changes with the protected paths: halo's own list, new folders with a dot at the top, what
 * is guarded for this run, and `[land] protect`, by each name that links of the base give to a path. A PRD whose only
 * change is the story's own mark is not protected, unless `[land] protect` names it.
 * Throws POLICY_VIOLATION and GIT_FAILED.
 */
export async function judgePaths(attempt: PathRules, candidate: ChangedCommit): Promise<JudgedPaths> {
  const { candidateDir } = attempt.resources;
  const { changed, parent } = candidate;
  const { protect } = attempt.config.land;
  const guarded = attempt.inputs.state.repo.guarded ?? [];
  const [links, folders] = await Promise.all([
    readLinks(candidateDir, parent, attempt.signal),
    findNewDotFolders({ gitDir: candidateDir, base: parent, changed }),
  ]);
  const names = new Map(changed.map(({ path }) => [path, namesOf(path, links)]));
  const match = async (of: readonly FileChange[], globs: readonly string[]) => {
    const found = new Set(
      await findProtected(
        of.flatMap(({ path }) => names.get(path) ?? []),
        globs,
      ),
    );
    return of.filter(({ path }) => names.get(path)?.some((name) => found.has(name)));
  };
  const protectedChanges = await match(changed, [
    ...guardGlobs([...folders, ...guarded.map(({ path }) => path)]),
    ...protect,
  ]);
  if (protectedChanges.length === 0) return { paths: [], named: [], prds: [] };
  const ownPrds = guarded.filter(({ setting }) => setting === undefined).map(({ path }) => path);
  const prds = new Set(await match(protectedChanges, ['!**', ...PROTECTED_GROUPS.PRDs, ...guardGlobs(ownPrds)]));
  const asked = new Set(await match(protectedChanges, ['!**', ...protect]));
  const judged = await Promise.all(
    protectedChanges.map(async (change) => ({
      change,
      prd: prds.has(change) ? await judgePrd(attempt, candidate, change) : undefined,
    })),
  );
  const left = judged.filter(({ change, prd }) => prd?.isOwnMark !== true || asked.has(change));
  const settingOf = ({ path }: FileChange) => {
    const isNamed = (folder: string) =>
      names.get(path)?.some((name) => name === folder || name.startsWith(`${folder}/`));
    return guarded.find((each) => each.setting !== undefined && isNamed(each.path))?.setting;
  };
  return {
    paths: left.map(({ change }) => change.path),
    named: left.filter(({ prd }) => prd === undefined).map(({ change }) => nameOf(change.path, settingOf(change))),
    prds: left.flatMap(({ change, prd }) => (prd === undefined ? [] : [describePrd(change.path, prd)])),
  };
}

/** Undefined if the path is not a PRD file before and after the change. */
async function judgePrd(
  { resources, inputs }: PathRules,
  { parent, commit }: ChangedCommit,
  { path, change, mode }: FileChange,
): Promise<PrdChange | undefined> {
  if (change !== 'update' || mode === LINK) return undefined;
  const [before, after] = await Promise.all(
    [parent, commit].map((each) =>
      readBytesAt({ gitDir: resources.candidateDir, commit: each, path, maxBytes: MAX_PRD_BYTES }).catch(
        () => undefined,
      ),
    ),
  );
  // A file that is too large counts as no PRD.
  return judgePrdChange({ before: before ?? NOTHING, after: after ?? NOTHING, path, story: inputs.story });
}

const NOTHING = new Uint8Array();

function nameOf(path: string, setting: string | undefined): string {
  return setting === undefined ? safeLine(path) : `${safeLine(path)} (${safeLine(setting)})`;
}

function describePrd(path: string, { what }: PrdChange): string {
  const shown = what.slice(0, MAX_SHOWN_CHANGES).map((each) => safeLine(each));
  const more = what.length > MAX_SHOWN_CHANGES ? [`${what.length - MAX_SHOWN_CHANGES} changes more`] : [];
  return `${safeLine(path)}: ${[...shown, ...more].join(', ') || 'marks the story itself'}`;
}
