import { compileAllowed } from '../../../lib/secrets/allowed-rules.ts';
import type { Config } from '../../../config/config.ts';
import { commitScopeOf, commitTypeOf } from '../../../core/prd/commit-type.ts';
import { commitMessage, STORY_KEY_TRAILER } from '../../../git/commit/commit-message.ts';
import { createCommit } from '../../../git/commit/create-commit.ts';
import { describeChange } from '../../../git/commit/read-commits.ts';
import { NESTED_REPOSITORY } from '../../../git/import/import-limits.ts';
import { importTree } from '../../../git/import/import-tree.ts';
import { toHaloError } from '../../../core/failure/errors.ts';
import { describeHidden } from '../../../core/text/hidden-places.ts';
import { isLockFile } from '../../../core/noted-files.ts';
import { keepChange } from '../kept-change.ts';
import type { Attempt } from '../open-attempt.ts';
import { signingKey } from '../../repository/host-repository.ts';
import { AttemptEnded, attemptFailed, withCause } from '../attempt-outcome.ts';
import { assertLockedTests } from '../tests-first/locked-tests.ts';
import type { Candidate } from '../work.ts';
import type { ExportedTree } from './export-tree.ts';

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
  const { journal } = attempt;
  const { candidateDir } = attempt.resources;
  const { base } = attempt.inputs;
  const { tree, changed, suspects, hidden, large } = await importExported(attempt, exported);
  const { ignored } = exported;
  if (changed.length === 0) {
    if (ignored.length > 0) await journal.report({ type: 'files.noted', ignored });
    return undefined;
  }
  const commit = await commitTree(attempt, { tree, parent: base, summary });
  const described = describeChange({ gitDir: candidateDir, from: base, to: commit });
  const [{ binary: all }] = await Promise.all([
    described,
    keepChange(attempt, { commit, parent: base, patch: described.then(({ patch }) => patch) }),
  ]);
  if (suspects.length > 0)
    await journal.report({ type: 'secrets.suspected', suspects: suspects.slice(0, MAX_NAMED_PATHS) });
  if (hidden !== undefined) await journal.report({ type: 'hidden.added', hidden });
  const locks = changed.map(({ path }) => path).filter(isLockFile);
  const added = new Set(changed.filter(({ change }) => change !== 'delete').map(({ path }) => path));
  const binary = all.filter((path) => added.has(path));
  if (large.length + locks.length + binary.length + ignored.length > 0)
    await journal.report({
      type: 'files.noted',
      large: large.slice(0, MAX_NAMED_PATHS),
      locks: locks.slice(0, MAX_NAMED_PATHS),
      ...(binary.length > 0 && { binary: binary.slice(0, MAX_NAMED_PATHS) }),
      ...(ignored.length > 0 && { ignored }),
    });
  return { commit, parent: base, tree, changed, suspects, hidden };
}

/** Ends the attempt with its cause if the tree contains a secret of the machine, or a repository. */
async function importExported(
  { worker, config, journal, inputs, resources, signal }: Attempt,
  exported: ExportedTree,
): ReturnType<typeof importTree> {
  let knowsSecret = false;
  return importTree({
    scratchDir: resources.scratchDir,
    base: inputs.base,
    tree: exported.tree,
    packFile: exported.packFile,
    masker: worker.masker,
    isAllowed: compileAllowed(config.secrets.allow),
    // The path goes only into the journal: an agent that saw it could guess the secret by trial.
    onSecret: async (path) => {
      knowsSecret = true;
      await journal.report({ type: 'secrets.suspected', suspects: [{ path, names: [KNOWN_SECRET] }] });
    },
    signal,
  }).catch((error: unknown) => {
    const { message, cause } = toHaloError(error);
    const ofAgent = knowsSecret ? 'known-secret' : cause === NESTED_REPOSITORY ? 'nested-repository' : undefined;
    throw ofAgent === undefined ? error : withCause(ofAgent, attemptFailed('POLICY_VIOLATION', message));
  });
}

interface NewCommit {
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
  const { message, author } = config.git;
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
        'Requested-by': masker.text(state.user),
      },
    }),
    author,
    date: new Date(),
    key: signingKey(config.git),
  });
}

/** Such as `codex gpt-5.5`; only the agent's name if it uses no model. */
function agentName({ agent, model }: Config): string {
  return model.api === undefined ? agent : `${agent} ${model.name}`;
}
