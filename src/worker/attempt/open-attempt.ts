import { randomBytes } from 'node:crypto';
import type { AgentAdapter, AgentIntent, AgentLaunch, LiveSession } from '../../agents/adapter.ts';
import { agentAdapter } from '../../agents/registry.ts';
import type { Config } from '../../config/config.ts';
import type { SessionStart } from '../../core/agent-session.ts';
import type { AgentTask } from '../../core/journal/phase.ts';
import type { StartFacts } from '../../core/journal/start-facts.ts';
import { chosenVersion } from '../../core/agent-program.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { resolveTestsFirst } from '../../core/prd/tests-first-field.ts';
import type { LockedTests } from '../../core/review/tests-first.ts';
import { storyOf, type Approval, type RunState } from '../../core/run/state.ts';
import { AGENT_HOME } from '../../sandbox/sandbox.ts';
import type { AttemptLocation } from '../../store/run-layout.ts';
import type { WorkerContext } from '../worker-context.ts';
import { MODEL_PORT, SESSION } from '../workspace/sandbox-paths.ts';
import { identifyAttempt, type AttemptIdentity } from './attempt-identity.ts';
import { fenceArtifacts, openAttemptJournal, type AttemptJournal } from './attempt-journal.ts';
import { AttemptResources } from './attempt-resources.ts';

/** What commands in sandboxes need. `halo check` and `halo verify` have only this: they belong to no run. */
export interface SandboxContext {
  readonly worker: WorkerContext;
  readonly identity: AttemptIdentity;
  readonly config: Config;
  readonly resources: AttemptResources;
  readonly journal: AttemptJournal;
  /** Stops the commands. */
  readonly signal: AbortSignal;
  /** What workspaces begin with; setup has run for it. */
  readonly layer?: SnapshotLayer | undefined;
}

/** One attempt at a story: what every phase works with. */
export interface Attempt extends SandboxContext {
  readonly inputs: AttemptInputs;
  readonly agent: AttemptAgent;
  /** The agent writes only the tests of the story, refactors an implementation that passes them, or reviews the change. */
  readonly task?: AgentTask;
  /** The tests that the agent may not change. */
  readonly locked?: LockedTests | undefined;
  /** The work of an earlier attempt with which this one continues. */
  readonly continued?: ContinuedWork | undefined;
  /** What its agent continues, or begins for later attempts. */
  readonly session?: StorySession | undefined;
}

/** The work of an earlier attempt with which this one continues. */
export interface ContinuedWork {
  attempt: number;
  /** Its change as a commit on the base of this attempt; undefined if it cannot be applied. */
  commit: string | undefined;
}

/** The session that an agent keeps for further attempts at its story. */
export interface StorySession {
  /** The volume with its files. */
  readonly volume: string;
  readonly start: SessionStart;
}

export interface AttemptInputs {
  /** The state of the run when the attempt began. */
  readonly state: RunState;
  readonly prd: Prd;
  readonly story: Story;
  /** The commit that the agent starts from. */
  readonly base: string;
  /** The repository in which the run's branch lands. */
  readonly hostGitDir: string;
  /** ISO 8601 */
  readonly startedAt: string;
  /** What it started with; absent in the repetition of an attempt. */
  readonly start?: StartFacts | undefined;
}

interface AttemptAgent {
  readonly adapter: AgentAdapter;
  readonly launch: AgentLaunch;
  /** Opens the session of a process that was launched so; absent: its input is its prompt. */
  readonly openSession?: () => LiveSession | undefined;
  /** The token that the agent authenticates to its gateway with. It is not the provider's key. */
  readonly gatewayToken: string;
}

/** What an attempt is given: identity, inputs and the signal that cancels it. */
export interface AttemptRequest {
  runId: string;
  /** The state of the run when the attempt began. */
  state: RunState;
  prd: Prd;
  story: Story;
  /** Counts from 1 per story. */
  number: number;
  /** The fencing epoch: see `AttemptIdentity`. */
  epoch: number;
  /** The commit that the story builds on. */
  base: string;
  config: Config;
  /** The repository in which the run's branch lands. */
  hostGitDir: string;
  /** Where artifacts are stored. Default: below the attempt's own run. */
  location?: AttemptLocation;
  signal: AbortSignal;
  /** What it started with; absent before it has started, and in the repetition of an attempt. */
  start?: StartFacts;
}

/** Opens an attempt of a run. Its artifacts and events can only be written while no other worker has taken over. */
export function openRunAttempt(worker: WorkerContext, request: AttemptRequest): Promise<Attempt> {
  const { runId, story, number, epoch } = request;
  const store = fenceArtifacts(worker.store, runId, { story: story.id, epoch });
  const journal = openAttemptJournal(worker.store, { runId, story: story.id, attempt: number, epoch });
  return openAttempt({ ...worker, store }, request, journal);
}

/** Opens an attempt: creates its scratch repositories; no sandbox runs yet. The caller must close its resources. */
export async function openAttempt(
  worker: WorkerContext,
  request: AttemptRequest,
  journal: AttemptJournal,
): Promise<Attempt> {
  const { runId, state, prd, story, number, epoch, base, config, hostGitDir, location, signal, start } = request;
  const { key: storyKey } = storyOf(state, story.id);
  const identity = identifyAttempt({ runId, story: story.id, storyKey, attempt: number, epoch }, location);
  const { repo } = state;
  await worker.learnSecrets(config);
  const resources = await AttemptResources.open(worker, identity, {
    config,
    mirror: repo.mirror,
    refs: { from: hostGitDir, commit: repo.base, branch: repo.branch, run: runId },
  });
  const inputs = Object.freeze({ state, prd, story, base, hostGitDir, start, startedAt: new Date().toISOString() });
  const first = resolveTestsFirst(config.tests.first, story, prd);
  const ofStory = { ...config, tests: { ...config.tests, first } };
  return {
    worker,
    identity,
    config: ofStory,
    resources,
    journal,
    signal,
    inputs,
    agent: prepareAgent(config, { state, isOfRun: location === undefined, live: worker.openLiveInput !== undefined }),
  };
}

/** `isOfRun`: false for the repetition of an attempt, which must not depend on sessions. */
function prepareAgent(
  config: Config,
  { state, isOfRun, live }: { state: RunState; isOfRun: boolean; live: boolean },
): AttemptAgent {
  const gatewayToken = `halo-${randomBytes(24).toString('base64url')}`;
  const keepsSession = isOfRun && !state.dry && config.agentOptions.sessionMs !== undefined;
  const sessionDir = keepsSession ? SESSION : undefined;
  return agentAnswering(state.planning ? 'plan' : 'story', { config, gatewayToken, sessionDir, live });
}

/** The configured agent, asked for an answer of this kind. `live`: it gets messages while it works, if its program can. */
export function agentAnswering(
  answers: NonNullable<AgentIntent['answers']>,
  {
    config,
    gatewayToken,
    sessionDir,
    live,
  }: { config: Config; gatewayToken: string; sessionDir?: string | undefined; live?: boolean },
): AttemptAgent {
  const { agent, agentCommand, agentOptions: options, agentVersions, model } = config;
  const adapter = agentAdapter(agent);
  const isLive = live === true && 'openSession' in adapter;
  const intent: AgentIntent = {
    model: model.name,
    api: model.api,
    modelUrl: model.api !== undefined ? `http://127.0.0.1:${MODEL_PORT}/v1` : undefined,
    gatewayToken,
    home: AGENT_HOME,
    version: chosenVersion(agentVersions, agent),
    commandLine: agentCommand,
    options,
    answers,
    sessionDir,
    ...(isLive && { live: true }),
  };
  const session = isLive && { openSession: () => adapter.openSession?.(intent) };
  return { adapter, launch: adapter.launch(intent), gatewayToken, ...session };
}

/** The approval of the story, if a person approved its commit but the commit could not land then. */
export function approvalOf({ inputs }: Pick<Attempt, 'inputs'>): Approval | undefined {
  return storyOf(inputs.state, inputs.story.id).approved;
}

/** The snapshot that the workspaces of an attempt begin with. */
export interface SnapshotLayer {
  /** The volume; nothing may write to it. */
  readonly volume: string;
  readonly mode: 'overlay' | 'copy';
  readonly key: string;
  readonly digest: string;
  /** The commands that made it. */
  readonly setup: readonly string[];
}

/** The attempt whose workspaces begin with a layer, so that setup does not run; without one, the attempt itself. */
export function onLayer<T extends { config: object }>(attempt: T, layer: SnapshotLayer | undefined): T {
  return layer === undefined ? attempt : { ...attempt, layer, config: { ...attempt.config, setup: [] } };
}

/** The same without a layer: setup runs. */
export function withoutLayer<T extends SandboxContext>(attempt: T): T {
  const { layer, config } = attempt;
  return layer === undefined
    ? attempt
    : { ...attempt, layer: undefined, config: { ...config, setup: [...layer.setup] } };
}
