import { Writable } from 'node:stream';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { AttemptJournal } from '../attempt/attempt-journal.ts';
import { mirrorName } from '../../git/repository/repo-url.ts';
import { AttemptEnded } from '../attempt/attempt-outcome.ts';
import { openCheckContext } from '../proof/open-check-context.ts';
import { withIntactMirror } from '../repository/with-intact-mirror.ts';
import type { WorkerContext } from '../worker-context.ts';
import { VIEW } from '../workspace/sandbox-paths.ts';
import { explainRefusal, openLayer } from './open-layer.ts';

/** What became of the snapshot of a commit. */
export interface PreparedSnapshot {
  /** `refused`: the result of setup cannot be a snapshot; `failed`: a command did not exit 0. `reason` says why. */
  state: 'built' | 'present' | 'refused' | 'failed';
  key: string | null;
  reason: string | null;
}

interface PrepareRequest {
  /** The repository that has the commit. */
  gitDir: string;
  commit: string;
  config: Config;
  /** The id of the HALO_HOME whose runs use the snapshot. */
  homeId: string;
  signal: AbortSignal;
  /** Receives the output of setup, which waits until it resolves. */
  onOutput: (bytes: Uint8Array) => Promise<void>;
}

/**
 * Makes the snapshot that stories on a commit begin with, unless it exists. Throws RUN_ABORTED, DOCKER_FAILED.
 */
export async function prepareSnapshot(worker: WorkerContext, request: PrepareRequest): Promise<PreparedSnapshot> {
  const { gitDir, commit, config, homeId, signal, onOutput } = request;
  const repo = { source: gitDir, mirror: mirrorName(gitDir) };
  const check = await withIntactMirror({ home: worker.home, repo }, () =>
    openCheckContext(worker, { name: 'checking', gitDir, commit, story: 'snapshot', config, signal }),
  );
  const openArtifact = () =>
    new Writable({ write: (bytes: Buffer, _encoding, done) => void onOutput(bytes).then(() => done(), done) });
  const result: PreparedSnapshot = { state: 'refused', key: null, reason: null };
  const journal: AttemptJournal = {
    ...check.journal,
    report: (...events) => {
      for (const event of events) {
        if (event.type === 'snapshot.refused') result.reason = event.reason;
        if (event.type === 'snapshot.used') Object.assign(result, { state: event.made ? 'built' : 'present' });
      }
      return Promise.resolve();
    },
  };
  const own = { ...check, worker: { ...worker, homeId, store: { ...worker.store, openArtifact } }, journal };
  try {
    const checkout = { commit, gitDir: check.resources.mirrorDir, sources: [VIEW] };
    const layer = await openLayer(own, { checkout, phase: 'setup', folder: 'setup', fromStory: false });
    signal.throwIfAborted();
    if (layer !== undefined) return { ...result, key: layer.key };
    return { ...result, reason: result.reason ?? (await explainRefusal(own, checkout)) };
  } catch (error) {
    if (signal.aborted) throw new HaloError('RUN_ABORTED', 'The build was stopped.');
    if (error instanceof AttemptEnded) return { state: 'failed', key: null, reason: error.outcome.summary };
    throw error;
  } finally {
    await check.resources.close();
  }
}
