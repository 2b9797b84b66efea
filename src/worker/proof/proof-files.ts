import { createHash } from 'node:crypto';
import { defined } from '../../lib/guards.ts';
import { readVersion } from '../attempt/agent-version.ts';
import { parseProof, proofText, type GateProof, type Proof } from '../../core/review/proof.ts';
import type { AgentReview } from '../../core/review/agent-review.ts';
import { storyOf, type RunState } from '../../core/run/state.ts';
import type { LockedTests } from '../../core/review/tests-first.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import type { AttemptRef } from '../../core/journal/event-parts.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { describeStart } from '../../core/journal/start-facts.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { writeNote } from '../../git/commit/notes.ts';
import { haloVersion } from '../../lib/version.ts';
import type { AttemptLocation } from '../../store/run-layout.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { Attempt } from '../attempt/open-attempt.ts';
import type { Work } from '../attempt/work.ts';
import type { PassedGates } from '../attempt/phases/run-gates.ts';
import { signingKey } from '../repository/host-repository.ts';

const ARTIFACT = 'proof.json';

/** Writes the proof of a candidate that passed its gates, before it lands or waits for approval. */
export async function recordProof(
  { worker, config, identity, inputs }: Attempt,
  { candidate, origin, locked }: Work,
  { gates: results, layer, review }: PassedGates & { review?: AgentReview | undefined },
): Promise<void> {
  const { story, prd } = inputs;
  const { startedFrom, startedAt, usage, approval } = origin;
  const said = describeStart(inputs.start ?? {}).flatMap(({ phrase, internal }) => (internal ? [] : [phrase]));
  const [first, ...others] = results;
  const [tests, gates] = locked && first ? [testsOf(locked, first), others] : [undefined, results];
  const id = await worker.engine.imageId(config.image);
  const messages = messagesOf(await worker.store.readState(identity.runId), story.id);
  const proof: Proof = {
    v: 1,
    commit: candidate.commit,
    base: candidate.parent,
    ...(startedFrom === candidate.parent ? {} : { startedFrom }),
    tree: candidate.tree,
    run: identity.runId,
    story: { id: story.id, title: story.title, attempt: identity.attempt },
    prd: { hash: prd.hash, specHash: prd.specHash },
    image: { name: config.image, id: id ?? '' },
    agent: {
      name: config.agent,
      ...defined({ version: await readVersion({ worker, config }) }),
      ...(config.model.api !== undefined ? { model: config.model.name } : {}),
    },
    ...(said.length > 0 && { start: said }),
    setup: [...config.setup],
    env: { ...config.env },
    allow: [...config.network.allow],
    registries: [...config.network.registries],
    ...(layer && { snapshot: { key: layer.key, digest: layer.digest } }),
    ...(config.tests.reports.length === 0 ? {} : { reports: [...config.tests.reports] }),
    ...(tests && { tests }),
    gates,
    ...(review && { review: reviewOf(review, candidate.commit) }),
    ...(messages.length > 0 && { messages }),
    usage: approval?.used ?? usage,
    halo: haloVersion(),
    startedAt,
    provenAt: new Date().toISOString(),
  };
  await failpoint('proof.before');
  // A commit that has landed always has its proof, also after a power failure.
  await worker.store.writeArtifact(identity.location, ARTIFACT, proofText(proof), { durable: true });
  await failpoint('proof.after');
}

/** The messages that an agent was shown. Their texts may be long. */
function messagesOf(state: RunState, storyId: string): NonNullable<Proof['messages']> {
  return (storyOf(state, storyId).messages ?? []).flatMap(({ by, text, shown }) =>
    shown === undefined ? [] : [{ by, how: shown.how, sha256: createHash('sha256').update(text).digest('hex') }],
  );
}

/** Its commit is named if others landed before it. */
function reviewOf({ commit, ...review }: AgentReview, landed: string): Proof['review'] {
  return commit === landed ? review : { ...review, commit };
}

function testsOf({ command, files, cases, holding }: LockedTests, green: GateProof): Proof['tests'] {
  return { command, files, cases, ...(holding && { holding }), green };
}

/** The proof of an attempt, if it is for this commit. */
export async function readProof(
  store: ArtifactStore,
  location: AttemptLocation,
  commit: string,
): Promise<Proof | undefined> {
  const proof = await readNewestProof(store, location);
  return proof?.commit === commit ? proof : undefined;
}

/** The newest proof of an attempt, for any of its commits. */
export async function readNewestProof(store: ArtifactStore, location: AttemptLocation): Promise<Proof | undefined> {
  const text = await readStoredProofText(store, location);
  return text === undefined ? undefined : parseProof(text);
}

/** The text of that proof, which is also the text of the note. */
export function readStoredProofText(store: ArtifactStore, location: AttemptLocation): Promise<string | undefined> {
  return store.readArtifact(location, ARTIFACT);
}

interface LandedProof {
  store: ArtifactStore;
  location: AttemptLocation;
  attemptRef: AttemptRef;
  gitDir: string;
  commit: string;
  /** The git settings of the run. */
  git: Parameters<typeof signingKey>[0];
  /** The person who approved it. */
  approvedBy?: string;
}

/**
 * Writes the proof of a landed commit as its note. Never throws, because the commit has landed: if the note cannot be
 * written, returns the journal entry that says so. Safe to repeat.
 */
export async function writeProofNote(landed: LandedProof): Promise<JournalEntry[]> {
  const { store, location, attemptRef, gitDir, commit, git, approvedBy } = landed;
  try {
    const proof = await readProof(store, location, commit);
    if (proof === undefined) return [];
    const text = proofText(approvedBy === undefined ? proof : { ...proof, approved: true, approvedBy });
    if (approvedBy !== undefined) await store.writeArtifact(location, ARTIFACT, text, { durable: true });
    await failpoint('note.before');
    await writeNote({ gitDir, commit, text, key: signingKey(git) });
    await failpoint('note.after');
    return [];
  } catch (error) {
    const { message } = toHaloError(error);
    return [{ type: 'note.failed', commit, reason: message, ...attemptRef }];
  }
}
