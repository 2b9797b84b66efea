import { describeHidden } from '../../../core/text/hidden-places.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Config } from '../../../config/config.ts';
import { NO_USAGE } from '../../../core/agent.ts';
import { readAnswer } from '../../../agents/answer.ts';
import { holdCommit, openHeldRepository, readHeldCommit } from '../../../git/commit/held-commits.ts';
import type { HeldCommit } from '../../../core/journal/events.ts';
import { storyOf, type Approval } from '../../../core/run/state.ts';
import { sendCommit } from '../../../git/mirror/send-commit.ts';
import { readNewestProof } from '../../proof/proof-record.ts';
import type { Attempt } from '../open-attempt.ts';
import { AttemptEnded } from '../attempt-outcome.ts';
import type { Candidate, Work, WorkOrigin } from '../work.ts';
import { judgePaths, type JudgedPaths } from './judge-paths.ts';
import { mergeOntoTip } from './merge-candidate.ts';

const MAX_NAMED_PATHS = 5;

/**
 * Keeps a commit that passed its gates until a person decides, and ends the attempt with NEEDS_HUMAN. That happens if the
 * commit changes protected paths, adds a possible secret or hidden characters where the configuration asks for approval,
 * or if every story needs approval. A change that a person has approved is held again only if a merge moved it into files
 * that they did not see.
 */
export async function holdForApproval(attempt: Attempt, { candidate, origin }: Work): Promise<void> {
  const { config, resources, identity } = attempt;
  const { approval } = origin;
  if (!changesUnseen(candidate, approval)) return;
  const guarded = await judgePaths(attempt, candidate);
  const hold = findHold(candidate, { guarded, approval, config });
  if (hold === undefined) return;
  const { candidateDir, mirrorDir } = resources;
  const { runId, storyKey } = identity;
  const { commit } = candidate;
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit });
  const { summary, ...held } = hold;
  throw new AttemptEnded({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary, held: { commit, ...held } });
}

/** The part of an approval that decides whether a commit is held again. */
type SeenPaths = Pick<NonNullable<WorkOrigin['approval']>, 'by' | 'paths'>;

/** The facts other than the candidate that decide whether it is held. */
export interface HoldFacts {
  guarded: JudgedPaths;
  approval: SeenPaths | undefined;
  config: Pick<Config, 'approval' | 'land' | 'secrets'>;
}

/** Why a candidate needs the approval of a person, and for which paths; undefined if it may land. */
export function findHold(
  candidate: Pick<Candidate, 'changed' | 'suspects' | 'hidden'>,
  { guarded, approval, config }: HoldFacts,
): (Omit<HeldCommit, 'commit'> & { summary: string }) | undefined {
  if (!changesUnseen(candidate, approval)) return undefined;
  const secret = config.secrets.added === 'block' ? candidate.suspects.map(({ path }) => path) : [];
  const paths = [...new Set([...guarded.paths, ...secret])];
  const hidden = config.land.hiddenCharacters === 'block' ? candidate.hidden : undefined;
  if (paths.length === 0 && hidden === undefined && config.approval.mode !== 'story') return undefined;
  const unseen = approval && unseenPaths(candidate, approval);
  const reasons = [
    ...(approval && unseen ? [`since ${approval.by} approved it, the merge moved it to ${namesOf(unseen)}`] : []),
    ...(guarded.named.length === 0 ? [] : [`it changes protected paths: ${listPaths(guarded.named)}`]),
    ...(guarded.prds.length === 0 ? [] : [`it changes ${listPaths(guarded.prds)}`]),
    ...(hidden === undefined ? [] : [`it adds ${describeHidden(hidden)}`]),
    ...(secret.length === 0 ? [] : [`it adds what looks like a secret: ${namesOf(secret)}`]),
  ];
  const always = 'gates passed; waiting for approval (approval.mode = "story")';
  const named = [
    ...(guarded.named.length === 0 ? [] : (['protected'] as const)),
    ...(hidden === undefined ? [] : (['hidden'] as const)),
  ];
  const summary = reasons.length === 0 ? always : `the gates pass, but ${reasons.join('; ')}`;
  return { paths, summary, ...(named.length > 0 && { named }) };
}

function changesUnseen(candidate: Pick<Candidate, 'changed'>, approval: SeenPaths | undefined): boolean {
  return approval === undefined || unseenPaths(candidate, approval).length > 0;
}

function unseenPaths({ changed }: Pick<Candidate, 'changed'>, { paths }: SeenPaths): string[] {
  return changed.map(({ path }) => path).filter((path) => !paths.has(path));
}

function namesOf(paths: string[]): string {
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
