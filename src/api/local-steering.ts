import type { Host } from '../config/config.ts';
import type { StoryQueue } from '../queue/queue.ts';
import { approveStory, rejectStory } from '../worker/decide-held.ts';
import { approveRun, rejectRun } from '../worker/decide-run.ts';
import type { RunKeeper } from '../worker/worker-context.ts';
import { cancelRun, cancelStory, pauseRun, retryRun } from '../worker/control/control-run.ts';
import type { Operations } from './operations.ts';
import { reconfigure } from './runs/reconfigure.ts';

/** The operations by which people decide how runs go on. */
export type Steering = Pick<
  Operations,
  'pause' | 'resume' | 'cancel' | 'retry' | 'approve' | 'reject' | 'approveRun' | 'rejectRun'
>;

export interface SteeringOptions {
  host: Host;
  keeper: RunKeeper;
  /** Whose word it is that goes into journals. */
  by: string;
  openQueue(): Promise<StoryQueue>;
  /** Takes a run that may go on for the worker of this process, where it has one and nobody else lives for it. */
  claim: (runId: string) => Promise<{ owner?: string }>;
}

/** Makes those of a person. */
export function openSteering({ host, keeper, claim, ...whose }: SteeringOptions): Steering {
  const { store } = keeper;
  const { by } = whose;
  const steer = async (prefix: string) => ({ runId: await store.find(prefix), ...whose });
  const decide = async (prefix: string, storyId: string) => ({ ...(await steer(prefix)), storyId });
  return {
    pause: async (prefix, { now }) => pauseRun(keeper, await steer(prefix), now),
    resume: async (prefix, { replan, ...settings }) => {
      const { replanRun, resumeUnchanged } = await import('../worker/control/replan-run.ts');
      const steering = await steer(prefix);
      const also = await reconfigure({ host, store, by, runId: steering.runId }, settings);
      if (replan !== undefined) return replanRun(keeper, { ...steering, also }, replan.prd);
      const owned = await claim(steering.runId);
      return { ...(await resumeUnchanged(keeper, { ...steering, also })), ...owned };
    },
    cancel: async (prefix, storyId) => {
      const steering = await steer(prefix);
      return storyId === undefined ? cancelRun(keeper, steering) : cancelStory(keeper, steering, storyId);
    },
    retry: async (prefix, storyId, settings = {}) => {
      const steering = await steer(prefix);
      const also = await reconfigure({ host, store, by, runId: steering.runId }, settings);
      const owned = await claim(steering.runId);
      return { ...(await retryRun(keeper, { ...steering, also }, storyId)), ...owned };
    },
    approve: async (prefix, storyId) => approveStory(keeper, await decide(prefix, storyId)),
    reject: async (prefix, storyId, reason) => rejectStory(keeper, { ...(await decide(prefix, storyId)), reason }),
    approveRun: async (prefix) => approveRun(keeper, await store.find(prefix), by),
    rejectRun: async (prefix, reason) => rejectRun(keeper, await store.find(prefix), { by, reason }),
  };
}
