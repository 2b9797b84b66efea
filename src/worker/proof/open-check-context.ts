import { randomInt } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { storyKey } from '../../core/run/story-key.ts';
import { updateMirror } from '../../git/mirror/mirror.ts';
import { mirrorName } from '../../git/repository/repo-url.ts';
import { identifyAttempt, type CheckName } from '../attempt/attempt-identity.ts';
import { SILENT_JOURNAL } from '../attempt/attempt-journal.ts';
import { AttemptResources } from '../attempt/attempt-resources.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import type { WorkerContext } from '../worker-context.ts';

interface CheckRequest {
  name: CheckName;
  /** The repository that has the commit. */
  gitDir: string;
  commit: string;
  /** The id of the story that landed the commit, or of the check. It labels the sandboxes. */
  story: string;
  config: Config;
  signal: AbortSignal;
}

/** An epoch for sandboxes that belong to no run. */
export function randomEpoch(): number {
  return randomInt(1_000_000, 1_000_000_000);
}

/** Prepares sandboxes that run commands on a commit, outside of a run. The caller must close the resources. */
export async function openCheckContext(worker: WorkerContext, request: CheckRequest): Promise<SandboxContext> {
  const { name: runId, gitDir, commit, story, config, signal } = request;
  const mirror = mirrorName(gitDir);
  await updateMirror({ home: worker.home, name: mirror, from: gitDir, commit });
  await worker.learnSecrets(config);
  const identity = identifyAttempt({ runId, story, storyKey: storyKey(story), attempt: 1, epoch: randomEpoch() });
  const resources = await AttemptResources.open(worker, identity, {
    config,
    mirror,
    refs: { from: gitDir, commit },
  });
  return { worker, identity, config, resources, journal: SILENT_JOURNAL, signal };
}
