import { parseProof, proofText, type GateProof, type Proof } from '../core/review/proof.ts';
import { toHaloError } from '../core/failure/errors.ts';
import type { AttemptRef, JournalEntry } from '../core/journal/events.ts';
import { reach } from '../lib/failpoint.ts';
import { writeNote } from '../git/commit/notes.ts';
import { version } from '../lib/version.ts';
import type { AttemptPlace } from '../store/run-layout.ts';
import type { Store } from '../store/store.ts';
import type { Attempt } from './attempt-context.ts';
import type { Candidate } from './phases/import.ts';
import { signingKey } from './signing-key.ts';

const ARTIFACT = 'proof.json';

/** Writes down what stands behind a candidate whose gates have passed, before it lands or waits for a person. */
export async function keepProof(attempt: Attempt, candidate: Candidate, gates: GateProof[]): Promise<void> {
  const { worker, config, runId, story, number, prd, startedFrom, approval } = attempt;
  const id = await worker.engine.imageId(config.image);
  const proof: Proof = {
    v: 1,
    commit: candidate.commit,
    base: candidate.parent,
    ...(startedFrom === candidate.parent ? {} : { startedFrom }),
    tree: candidate.tree,
    run: runId,
    story: { id: story.id, title: story.title, attempt: number },
    prd: { hash: prd.hash, specHash: prd.specHash },
    image: { name: config.image, id: id ?? '' },
    agent: { name: config.agent, ...(config.model.api !== undefined ? { model: config.model.name } : {}) },
    setup: [...config.setup],
    env: { ...config.env },
    allow: [...config.network.allow],
    registries: [...config.network.registries],
    ...(config.tests.reports.length === 0 ? {} : { reports: [...config.tests.reports] }),
    gates,
    usage: approval?.used ?? attempt.usage,
    halo: version(),
    startedAt: attempt.startedAt,
    provenAt: new Date().toISOString(),
  };
  await reach('proof.before');
  await worker.store.writeArtifact(attempt.place, ARTIFACT, proofText(proof));
  await reach('proof.after');
}

/** The proof of an attempt, when it is of this commit. */
export async function readProof(store: Store, place: AttemptPlace, commit: string): Promise<Proof | undefined> {
  const proof = await readProofOf(store, place);
  return proof?.commit === commit ? proof : undefined;
}

/** The newest proof of an attempt, whichever of its commits it is of. */
export async function readProofOf(store: Store, place: AttemptPlace): Promise<Proof | undefined> {
  const text = await readKeptText(store, place);
  return text === undefined ? undefined : parseProof(text);
}

/** The same as its text, which is that of the note as well. */
export function readKeptText(store: Store, place: AttemptPlace): Promise<string | undefined> {
  return store.readArtifact(place, ARTIFACT);
}

export interface LandedProof {
  store: Store;
  place: AttemptPlace;
  whose: AttemptRef;
  gitDir: string;
  commit: string;
  /** Of the run's configuration. */
  git: Parameters<typeof signingKey>[0];
  /** The person who said yes to it. */
  approvedBy?: string;
}

/**
 * Makes the proof of a landed commit its note. The commit stays landed whatever happens here: of a note that cannot be
 * written the answer tells the journal. Safe to repeat.
 */
export async function noteProof(landed: LandedProof): Promise<JournalEntry[]> {
  const { store, place, whose, gitDir, commit, git, approvedBy } = landed;
  try {
    const proof = await readProof(store, place, commit);
    if (proof === undefined) return [];
    const text = proofText(approvedBy === undefined ? proof : { ...proof, approved: true, approvedBy });
    if (approvedBy !== undefined) await store.writeArtifact(place, ARTIFACT, text);
    await reach('note.before');
    await writeNote({ gitDir, commit, text, key: signingKey(git) });
    await reach('note.after');
    return [];
  } catch (error) {
    const { message } = toHaloError(error);
    return [{ type: 'note.failed', commit, reason: message, ...whose }];
  }
}
