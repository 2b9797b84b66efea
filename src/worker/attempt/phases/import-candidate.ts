import { createReadStream } from 'node:fs';
import type { AgentAnswer, Usage } from '../../../core/agent.ts';
import type { CriterionClaim } from '../../../core/review/criteria.ts';
import type { LockedTests } from '../../../core/review/tests-first.ts';
import type { Proof } from '../../../core/review/proof.ts';
import type { Config } from '../../../config/config.ts';
import { commitScopeOf, commitTypeOf } from '../../../core/prd/commit-type.ts';
import { commitMessage, STORY_KEY_TRAILER } from '../../../git/commit/commit-message.ts';
import { createCommit } from '../../../git/commit/create-commit.ts';
import { diffCommits } from '../../../git/commit/commit-diff.ts';
import { importTree, type FileChange } from '../../../git/import/import-tree.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { describeHidden, type HiddenPlaces } from '../../../core/text/hidden-places.ts';
import { isLockFile } from '../../../core/noted-files.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import type { Baseline } from '../baseline.ts';
import type { Attempt } from '../open-attempt.ts';
import type { Suspect } from '../../../git/import/scan-secrets.ts';
import { signingKey } from '../../repository/host-repository.ts';
import { AttemptEnded, attemptFailed, withCause } from '../attempt-outcome.ts';
import { assertLockedTests } from '../tests-first/locked-tests.ts';
import type { ExportedTree } from './export-tree.ts';

/** The commit that the gates check and that lands if they pass. */
export interface Candidate {
  commit: string;
  /** Its only parent. */
  parent: string;
  tree: string;
  changed: FileChange[];
  suspects: Suspect[];
  /** Hidden characters that it adds to text files. */
  hidden: HiddenPlaces | undefined;
}

/** Where a candidate comes from. */
export interface WorkOrigin {
  /** The commit that the agent started from. */
  startedFrom: string;
  /** When its attempt started. ISO 8601 */
  startedAt: string;
  /** What an agent used in this attempt. */
  usage: Usage;
  /** The approval: approver, approved paths, and usage of the agent that made the change. */
  approval?: { by: string; paths: ReadonlySet<string>; used: Proof['usage'] | undefined };
}

/** A candidate on its way from import to landing. */
export interface Work {
  candidate: Candidate;
  origin: WorkOrigin;
  /** The agent's summary. */
  summary: string;
  /** How often it was merged and gated again because another story landed first. */
  merges: number;
  /** The folder of its gate logs among the artifacts. */
  gatesFolder: string;
  /** Which criteria the agent claims to have met, until they are reported. */
  claims?: readonly CriterionClaim[] | undefined;
  /** The tests that its gates begin with. */
  locked?: LockedTests | undefined;
  /** A clean workspace that was started in advance. */
  clean?: Workspace;
  /** A baseline on its parent that was started in advance. */
  baseline?: Baseline;
}

/** Work as the agent left it: without a candidate if it changed nothing. */
export type ImplementedWork = Omit<Work, 'candidate'> & { candidate: Candidate | undefined };

interface NewWork extends Pick<ImplementedWork, 'candidate' | 'clean' | 'baseline'> {
  answer: AgentAnswer;
  /** What the agents of the attempt used. */
  usage: Usage;
}

/** The result of an agent that started from the base of its attempt. */
export function newWork(
  { inputs, locked }: Attempt,
  { answer: { summary, criteria: claims }, usage, ...made }: NewWork,
): ImplementedWork {
  const origin = { startedFrom: inputs.base, startedAt: inputs.startedAt, usage };
  return { ...made, summary, claims, locked, origin, gatesFolder: 'gates', merges: 0 };
}

export function hasChanges(work: ImplementedWork): work is Work {
  return work.candidate !== undefined;
}

/** More paths are not reported. */
const MAX_NAMED_PATHS = 50;
const KNOWN_SECRET = 'a secret of the machine that halo runs on';
const HIDDEN_REFUSED = 'no story may add control, direction or invisible characters ([land] hidden_characters)';

/**
 * Checks the exported pack, rebuilds its tree from blobs alone and creates the candidate commit. Undefined if the agent
 * changed nothing and `land.unchanged` leaves the decision to the gates.
 */
export async function importCandidate(
  attempt: Attempt,
  exported: ExportedTree,
  summary: string,
): Promise<Candidate | undefined> {
  return attempt.journal.phase('import', async () => {
    const candidate = await importWork(attempt, exported, summary);
    const end = findImportFailure(candidate, attempt.config, summary);
    if (end !== undefined) throw end;
    await assertLockedTests(attempt, attempt.locked, candidate?.commit ?? attempt.inputs.base);
    return candidate;
  });
}

/** Why imported work must not reach the gates. */
export function findImportFailure(
  candidate: Pick<Candidate, 'hidden'> | undefined,
  { gates = [], land }: Pick<Config, 'gates' | 'land'>,
  summary: string,
): AttemptEnded | undefined {
  const changed = candidate !== undefined;
  if (candidate?.hidden !== undefined && land.hiddenCharacters === 'refuse') {
    const end = attemptFailed('POLICY_VIOLATION', `${HIDDEN_REFUSED}: ${describeHidden(candidate.hidden)}`);
    return new AttemptEnded({ ...end.outcome, changed });
  }
  if (changed || land.unchanged === 'trust' || (land.unchanged === 'pass' && gates.length > 0)) return undefined;
  const end = attemptFailed('INVALID_OUTPUT', 'the agent reported success but changed no files', summary);
  return withCause('no-changes', new AttemptEnded({ ...end.outcome, changed }));
}

/** Commits the exported tree in the candidate repository. Undefined if nothing changed. */
export async function importWork(
  attempt: Attempt,
  exported: ExportedTree,
  summary: string,
): Promise<Candidate | undefined> {
  const { worker, identity, journal, signal } = attempt;
  const { scratchDir, candidateDir } = attempt.resources;
  const { base } = attempt.inputs;
  let knowsSecret = false;
  const { tree, changed, suspects, hidden, large } = await importTree({
    scratchDir,
    base,
    tree: exported.tree,
    pack: createReadStream(exported.packFile),
    masker: worker.masker,
    // The path goes only into the journal: an agent that saw it could guess the secret by trial.
    onSecret: async (path) => {
      knowsSecret = true;
      await journal.report({ type: 'secrets.suspected', suspects: [{ path, names: [KNOWN_SECRET] }] });
    },
    signal,
  }).catch((error: unknown) => {
    throw knowsSecret
      ? withCause('known-secret', attemptFailed('POLICY_VIOLATION', toHaloError(error).message))
      : error;
  });
  if (changed.length === 0) return undefined;
  const commit = await commitTree(attempt, { tree, parent: base, summary });
  const patch = await diffCommits({ gitDir: candidateDir, from: base, to: commit });
  await worker.store.writePatch(identity.location, patch);
  if (suspects.length > 0)
    await journal.report({ type: 'secrets.suspected', suspects: suspects.slice(0, MAX_NAMED_PATHS) });
  if (hidden !== undefined) await journal.report({ type: 'hidden.added', hidden });
  const locks = changed.map(({ path }) => path).filter(isLockFile);
  if (large.length + locks.length > 0)
    await journal.report({
      type: 'files.noted',
      large: large.slice(0, MAX_NAMED_PATHS),
      locks: locks.slice(0, MAX_NAMED_PATHS),
    });
  return { commit, parent: base, tree, changed, suspects, hidden };
}

export interface NewCommit {
  tree: string;
  parent: string;
  summary: string;
}

/** Creates the commit of a story in its final form. */
export function commitTree(attempt: Attempt, { tree, parent, summary }: NewCommit): Promise<string> {
  const { config, resources } = attempt;
  const { runId, storyKey, attempt: number } = attempt.identity;
  const { story, state, prd } = attempt.inputs;
  const { masker } = attempt.worker;
  const { message, authorName, authorEmail } = config.git;
  return createCommit({
    candidateDir: resources.candidateDir,
    tree,
    parent,
    message: commitMessage({
      template: message,
      id: story.id,
      title: masker.text(story.title),
      type: commitTypeOf(story, prd),
      scope: masker.text(commitScopeOf(story)),
      run: runId,
      body: masker.text(summary),
      trailers: {
        'Halo-Run': runId,
        'Halo-Story': story.id,
        [STORY_KEY_TRAILER]: storyKey,
        'Halo-Attempt': String(number),
        'Halo-Agent': masker.text(agentName(config)),
        ...(state.user === undefined ? {} : { 'Requested-by': masker.text(state.user) }),
      },
    }),
    author: { name: authorName, email: authorEmail },
    date: new Date(),
    key: signingKey(config.git),
  });
}

/** Such as `codex gpt-5.5`; only the agent's name if it uses no model. */
function agentName({ agent, model }: Config): string {
  return model.api === undefined ? agent : `${agent} ${model.name}`;
}
