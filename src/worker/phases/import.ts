import { createReadStream } from 'node:fs';
import type { AgentAnswer } from '../../core/agent.ts';
import { commitMessage, STORY_KEY } from '../../git/commit/commit-message.ts';
import { makeCommit } from '../../git/commit/create-commit.ts';
import { diffCommits } from '../../git/commit/commit-diff.ts';
import { importTree, type Change } from '../../git/import/import-tree.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { hiddenText, type HiddenPlaces } from '../../core/text/hidden-places.ts';
import type { Attempt } from '../attempt-context.ts';
import type { Suspect } from '../../git/import/scan-secrets.ts';
import { signingKey } from '../signing-key.ts';
import { failed, failedBy } from '../story-end.ts';
import type { Exported } from '../attempt/phases/export-tree.ts';

/** What the gates judge and, when they agree, what lands. */
export interface Candidate {
  commit: string;
  /** The commit that it builds on: its only parent. */
  parent: string;
  tree: string;
  changed: Change[];
  suspects: Suspect[];
  /** Hidden characters that it adds to text files. */
  hidden: HiddenPlaces | undefined;
}

/** More paths are not named. */
const NAMED = 50;
const KNOWN = 'a secret of the machine that halo runs on';
const REFUSES_HIDDEN = 'no story may add control, direction or invisible characters ([land] hidden_characters)';

/**
 * Checks the exported pack, rebuilds its tree from blobs alone, and makes the commit that the gates will judge; undefined
 * when the agent changed nothing and `land.unchanged` lets the gates decide whether nothing had to be changed.
 */
export async function importCandidate(
  attempt: Attempt,
  exported: Exported,
  answer: AgentAnswer,
): Promise<Candidate | undefined> {
  return attempt.phase('import', async () => {
    const candidate = await importWork(attempt, exported, answer.summary);
    if (candidate?.hidden !== undefined && attempt.config.land.hiddenCharacters === 'refuse')
      throw failed('POLICY_VIOLATION', `${REFUSES_HIDDEN}: ${hiddenText(candidate.hidden)}`);
    const { gates = [], land } = attempt.config;
    if (candidate !== undefined || (land.unchanged === 'pass' && gates.length > 0)) return candidate;
    throw failedBy(
      'no-changes',
      failed('INVALID_OUTPUT', 'the agent reported success but changed no files', answer.summary),
    );
  });
}

/** The commit of what the workspace held, in the candidate repository only; undefined when nothing changed. */
export async function importWork(
  attempt: Attempt,
  exported: Exported,
  summary: string,
): Promise<Candidate | undefined> {
  const { scratchDir, candidateDir, base, worker, place, signal } = attempt;
  let knowsSecret = false;
  const { tree, changed, suspects, hidden } = await importTree({
    scratchDir,
    base,
    tree: exported.tree,
    pack: createReadStream(exported.packFile),
    masker: worker.masker,
    // Where it is, only people are told: the agent could find out by trial what the secret is.
    onSecret: async (path) => {
      knowsSecret = true;
      await attempt.report({ type: 'secrets.suspected', suspects: [{ path, names: [KNOWN] }] });
    },
    signal,
  }).catch((error: unknown) => {
    throw knowsSecret ? failedBy('known-secret', failed('POLICY_VIOLATION', toHaloError(error).message)) : error;
  });
  attempt.measured.changed = changed.length > 0;
  if (changed.length === 0) return undefined;
  const commit = await commitTree(attempt, { tree, parent: base, summary });
  const patch = await diffCommits({ gitDir: candidateDir, from: base, to: commit });
  await worker.store.writePatch(place, patch);
  if (suspects.length > 0) await attempt.report({ type: 'secrets.suspected', suspects: suspects.slice(0, NAMED) });
  if (hidden !== undefined) await attempt.report({ type: 'hidden.added', hidden });
  return { commit, parent: base, tree, changed, suspects, hidden };
}

export interface NewCommit {
  tree: string;
  parent: string;
  summary: string;
}

/** The commit of a story as it will land. */
export function commitTree(attempt: Attempt, { tree, parent, summary }: NewCommit): Promise<string> {
  const { candidateDir, config, story, key, runId, number, state } = attempt;
  const { masker } = attempt.worker;
  const { message, authorName, authorEmail } = config.git;
  return makeCommit({
    candidateDir,
    tree,
    parent,
    message: commitMessage({
      template: message,
      id: story.id,
      title: masker.text(story.title),
      run: runId,
      body: masker.text(summary),
      trailers: {
        'Halo-Run': runId,
        'Halo-Story': story.id,
        [STORY_KEY]: key,
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

/** `codex gpt-5.5`; an agent without a model is named alone. */
function agentName({ agent, model }: Attempt['config']): string {
  return model.api === undefined ? agent : `${agent} ${model.name}`;
}
