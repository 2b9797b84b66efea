import { createHash } from 'node:crypto';
import { chosenVersion } from '../../core/agent-program.ts';
import { decideSession } from '../../core/agent-session.ts';
import { discardSink } from '../../lib/streams.ts';
import { needsPerson, startsAlone, storyOf, type RunState } from '../../core/run/state.ts';
import type { LabelledResource, Mount } from '../../sandbox/sandbox.ts';
import { isSameEngine } from '../../core/engine/engine-identity.ts';
import type { Attempt, SandboxContext, StorySession } from '../attempt/open-attempt.ts';
import { runInHelper, startHelper } from './helper-sandbox.ts';
import { WORKSPACE } from './sandbox-paths.ts';

/** The phase in the labels of these volumes, by which the sweep knows them. */
export const SESSION_PHASE = 'session';
/** Sessions are text. Anything larger is misuse. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The session of a story, for the folder that the agent's program expects. */
export function mountSession({ volume }: StorySession, target: string): Mount {
  return { kind: 'volume', source: volume, target, readOnly: false, copyUp: false, limitBytes: MAX_BYTES };
}

/**
 * Opens the volume in which the agent keeps its session for further attempts at the story: that of the last attempt, or a
 * new one, as `decideSession` says. What is in it was written by the agent, so only sandboxes of this story's agent mount
 * it. The sweep removes it when the story has ended. Throws DOCKER_FAILED.
 */
export async function openStorySession(context: Attempt, sessionMs: number): Promise<StorySession> {
  const { worker, resources, inputs, identity } = context;
  const { engine } = worker;
  const { runId, storyKey, epoch, attempt } = identity;
  const own = `halo-session-${runId}-${storyKey}-${agentMark(context)}-u${resources.user}-e`;
  const kept = (await engine.listResources(worker.homeId)).filter(
    ({ kind, phase, run, storyKey: of }) =>
      kind === 'volume' && phase === SESSION_PHASE && run === runId && of === storyKey,
  );
  const { start, continued } = decideSession({
    ...{ kept, attempt, isOwn: (name) => name.startsWith(own), now: new Date(worker.now()).toISOString() },
    sameEngine: await wasHereLast(context),
    lastCause: storyOf(inputs.state, identity.story).lastFailure?.cause,
  });
  const volume = continued?.name ?? `${own}${epoch}`;
  const others = kept.map(({ name }) => name).filter((name) => name !== volume);
  // Before, the sandboxes of the attempt that used them may still be there.
  for (const name of others) resources.onClose(() => engine.removeVolume(name));
  resources.onClose(() => removeEndedSession(context, volume));
  if (continued !== undefined) return { volume, start };
  const expiresAt = new Date(worker.now() + sessionMs).toISOString();
  const quota = resources.hasQuota ? { quotaBytes: MAX_BYTES } : {};
  await engine.createVolume(volume, resources.labels(SESSION_PHASE), { user: resources.user, expiresAt, ...quota });
  // The first mount of the volume copies the mode of halo's workspace folder, which every user can write to.
  const helper = { phase: SESSION_PHASE, volume, readOnly: false, repositories: false, workdir: WORKSPACE };
  const sandbox = await startHelper(context, helper);
  const output = { stdout: discardSink(), stderr: discardSink(), outputBytes: 1_000 };
  await runInHelper(context, sandbox, { script: 'true', ...output });
  return { volume, start };
}

/** Removes a session that its agent cannot continue; no sandbox may use it anymore. Throws DOCKER_FAILED. */
export async function dropSession({ worker, session }: Pick<Attempt, 'worker' | 'session'>): Promise<void> {
  if (session !== undefined) await worker.engine.removeVolume(session.volume);
}

/** Stands for the agent and its program: another one cannot read the session, or would believe what it says. */
function agentMark({ config }: Attempt): string {
  const { agent, agentCommand, agentVersions } = config;
  const program = [agent, chosenVersion(agentVersions, agent) ?? '', agentCommand ?? ''];
  return createHash('sha256').update(JSON.stringify(program)).digest('hex').slice(0, 12);
}

/** Whether the last attempt at the story ran on this engine, or before halo knew several. */
async function wasHereLast({ worker, inputs, identity }: Attempt): Promise<boolean> {
  const { engine } = inputs.state.stories.find(({ key }) => key === identity.storyKey) ?? {};
  return engine === undefined || isSameEngine(engine, await worker.engineFacts());
}

async function removeEndedSession({ worker, identity }: SandboxContext, volume: string): Promise<void> {
  const { runId, storyKey } = identity;
  const state = await worker.store.readState(runId);
  const now = new Date(worker.now()).toISOString();
  if (wasSessionAbandoned(state, { storyKey }, now)) await worker.engine.removeVolume(volume);
}

/** Whether no further attempt can continue a session: its story has ended and asks nothing, or it has expired. */
export function wasSessionAbandoned(
  state: Pick<RunState, 'status' | 'stories'> | 'gone' | 'unreadable',
  { storyKey, expiresAt }: Pick<LabelledResource, 'storyKey' | 'expiresAt'>,
  now: string,
): boolean {
  if (state === 'unreadable') return false;
  const story = state === 'gone' ? undefined : state.stories.find(({ key }) => key === storyKey);
  if (story?.progress === 'in_progress') return false;
  if (state === 'gone' || (expiresAt !== undefined && expiresAt <= now)) return true;
  if (story !== undefined && needsPerson(story)) return false;
  // A failed story of a run that has not ended may be retried.
  return state.status === 'ended' || story === undefined || !startsAlone(story);
}
