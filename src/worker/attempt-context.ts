import { randomBytes } from 'node:crypto';
import type { AgentAdapter, AgentLaunch } from '../agents/adapter.ts';
import { agentAdapter } from '../agents/registry.ts';
import type { Config } from '../config/config.ts';
import { NO_USAGE, type Usage } from '../core/agent.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { JournalEntry } from '../core/journal/events.ts';
import type { Phase } from '../core/phase.ts';
import type { Prd, Story } from '../core/prd/prd.ts';
import type { Proof } from '../core/review/proof.ts';
import type { RunState } from '../core/run-state.ts';
import { closeAll } from '../lib/cleanup.ts';
import { reach } from '../lib/failpoint.ts';
import { addToView } from '../git/mirror/base-view.ts';
import { candidatePath, createScratch, removeScratch, viewPath } from '../git/repository/scratch-repo.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import type { Mount, Sandbox, SandboxLabels, SandboxSpec } from '../sandbox/sandbox.ts';
import type { AttemptPlace } from '../store/run-layout.ts';
import { mountAccounts } from './workspace/mount-accounts.ts';
import { refuseOutdated } from './fence.ts';
import { findStory } from './find-story.ts';
import { AGENT_HOME, CANDIDATE, VIEW, MODEL_PORT } from './workspace/sandbox-paths.ts';
import { takeUser } from './workspace/user-id.ts';
import type { ChannelKind, WorkerContext } from './worker-context.ts';

/** What every phase of one attempt works with. */
export interface Attempt {
  worker: WorkerContext;
  /** Unique over all attempts, also repeated ones: run, story, attempt and fencing epoch. */
  id: string;
  runId: string;
  state: RunState;
  prd: Prd;
  story: Story;
  key: string;
  number: number;
  /** Its fencing epoch: no other attempt of the run has it, and a later one has a higher one. */
  epoch: number;
  /** The commit that the story builds on: the one that its agent began with, or one that it was merged onto since. */
  base: string;
  /** The commit that its agent began with. */
  startedFrom: string;
  config: Config;
  adapter: AgentAdapter;
  launch: AgentLaunch;
  /** The token that its model route asks for, and that no other does. */
  modelKey: string;
  /** A person's yes to its work, as far as it changes these paths, and what that work had used. */
  approval?: { by: string; paths: ReadonlySet<string>; used: Proof['usage'] | undefined };
  /** Where its artifacts are kept. */
  place: AttemptPlace;
  /** Among them, the logs of its gates. */
  gatesFolder: string;
  transport: 'mount' | 'stream';
  channel: ChannelKind;
  /** User and group id inside its sandboxes, its own among concurrent attempts. */
  user: number;
  mirrorDir: string;
  scratchDir: string;
  candidateDir: string;
  /** The repository in which the run's branch lands. */
  hostGitDir: string;
  /** Read-only repositories that every sandbox of the attempt sees. */
  repositoryMounts: Mount[];
  /** An entry for the user in /etc/passwd and /etc/group; none where nothing can be mounted. */
  accountMounts: Mount[];
  /** Adds a commit of the mirror, with what that reaches, to what its candidate and its sandboxes see. */
  seeCommit(commit: string): Promise<void>;
  /** Metered while the agent ran. */
  usage: Usage;
  /** What it came to, as far as it came. */
  measured: Measured;
  /** ISO 8601 */
  startedAt: string;
  signal: AbortSignal;
  labels(phase: string): SandboxLabels;
  report(...entries: AttemptEntry[]): Promise<void>;
  /** Times an action between a `phase.started` and a `phase.ended` in the journal. */
  phase<T>(phase: Phase, action: () => Promise<T>): Promise<T>;
  createVolume(name: string): Promise<void>;
  startSandbox(spec: SandboxSpec): Promise<Sandbox>;
  /** Runs when the attempt closes, in reverse order. */
  atClose(action: () => Promise<void>): void;
  close(): Promise<void>;
}

/** Terminals of one sandbox: more than tools open, and few beside the 3072 that a machine has for all by default. */
const MOST_PTYS = 64;

/** Tells whether trying on makes sense. */
export interface Measured {
  /** Whether the agent left a changed file. */
  changed?: boolean;
  /** Characters that it printed. */
  output?: number;
  /** The first thing that its own rules did not permit it. */
  denied?: string | undefined;
}

/** A journal entry of an attempt, to which the attempt adds whose it is. */
type OfAttempt<T> = T extends { story: string; attempt: number } ? Omit<T, 'story' | 'attempt'> : never;
export type AttemptEntry = OfAttempt<JournalEntry>;

export interface AttemptRequest {
  runId: string;
  state: RunState;
  prd: Prd;
  story: Story;
  number: number;
  epoch: number;
  /** The commit that it builds on. */
  base: string;
  config: Config;
  hostGitDir: string;
  signal: AbortSignal;
}

/** Opens an attempt: its scratch repositories exist, nothing runs yet. Close it, however it ends. */
export async function openAttempt(worker: WorkerContext, request: AttemptRequest): Promise<Attempt> {
  const { runId, state, story, number, epoch, config } = request;
  const { key } = findStory(state, story.id);
  const id = `${runId}-${key}-a${number}-e${epoch}`;
  const mirrorDir = mirrorPath(worker.home, state.repo.mirror);
  const [scratchDir, transport, channel, proof, inUse] = await Promise.all([
    createScratch({ mirrorDir, attemptId: id }),
    worker.transport(config),
    state.channel ?? worker.channel(config),
    worker.prove(config),
    worker.engine.usersInUse(),
    worker.learnSecrets(config),
    // Remembered for when they are mounted: the first time it takes a sandbox.
    worker.transport(config).then((found) => (found === 'mount' ? worker.engine.accounts(config.image) : undefined)),
  ]);
  const { user, release } = takeUser(id, inUse);
  const closers: (() => unknown)[] = [() => removeScratch(scratchDir), release];
  const mounting = () => mountAccounts(worker.engine, { image: config.image, user, dir: scratchDir });
  const accountMounts = transport === 'mount' ? await mounting().catch(closeAndThrow(closers)) : [];
  const modelKey = `halo-${randomBytes(24).toString('base64url')}`;
  const candidateDir = candidatePath(scratchDir);
  const viewDir = viewPath(scratchDir);
  const seeCommit = (commit: string) => addToView(viewDir, { mirrorDir, commit });
  const adapter = agentAdapter(config.agent);
  let over = false;
  // Work that goes on beside an attempt, such as its baseline, may not know yet that the attempt is over.
  const refuseLate = () => {
    if (over) throw new HaloError('RUN_ABORTED', `The attempt ${id} is over.`);
  };
  const report = async (...entries: AttemptEntry[]) => {
    const whose = { story: story.id, attempt: number };
    await worker.store.transact(runId, (now) => {
      // What was spent is spent, whoever has the story now.
      if (entries.some(({ type }) => type !== 'model.used')) refuseOutdated(now, request);
      return { entries: entries.map((entry): JournalEntry => ({ ...entry, ...whose })), result: undefined };
    });
  };
  const labels = (phase: string): SandboxLabels => ({
    run: runId,
    storyKey: key,
    attempt: number,
    phase,
    owner: { home: worker.homeId, epoch },
  });
  return {
    ...request,
    worker,
    id,
    key,
    adapter,
    modelKey,
    launch: adapter.launch({
      model: config.model.name,
      api: config.model.api,
      modelUrl: config.model.api !== undefined ? `http://127.0.0.1:${MODEL_PORT}/v1` : undefined,
      modelKey,
      home: AGENT_HOME,
      commandLine: config.agentCommand,
    }),
    place: { runId, storyKey: key, attempt: number },
    startedFrom: request.base,
    gatesFolder: 'gates',
    transport,
    channel,
    user,
    mirrorDir,
    scratchDir,
    candidateDir,
    repositoryMounts: transport === 'mount' ? mountRepositories(viewDir, candidateDir) : [],
    seeCommit,
    accountMounts,
    usage: NO_USAGE,
    measured: {},
    startedAt: new Date().toISOString(),
    labels,
    report,
    phase: async (phase, action) => {
      const started = performance.now();
      await reach(`${phase}.before`);
      await report({ type: 'phase.started', phase });
      const result = await action();
      await report({ type: 'phase.ended', phase, ms: Math.round(performance.now() - started) });
      await reach(`${phase}.after`);
      return result;
    },
    createVolume: async (name) => {
      refuseLate();
      const volume = `halo-${id}-${name}`;
      closers.push(() => worker.engine.removeVolume(volume));
      const quota = proof.disk === 'quota' ? { quotaBytes: config.limits.diskBytes } : {};
      await worker.engine.createVolume(volume, labels(name), { user, ...quota });
    },
    startSandbox: async (spec) => {
      refuseLate();
      const starting = worker.engine.start({
        ...spec,
        ...(proof.runtime === undefined ? {} : { runtime: proof.runtime }),
        limits: { ...spec.limits, ...(proof.ptys ? { ptys: MOST_PTYS } : {}) },
      });
      closers.push(() =>
        starting.then(
          (sandbox) => sandbox.remove(),
          () => {},
        ),
      );
      return starting;
    },
    atClose: (action) => {
      if (over) worker.inBackground(action());
      else closers.push(action);
    },
    close: async () => {
      over = true;
      await reach('close.before');
      // Sandboxes first, then what they used.
      await closeAll(closers);
      await reach('close.after');
    },
  };
}

function closeAndThrow(closers: (() => unknown)[]): (error: unknown) => Promise<never> {
  return async (error) => {
    await closeAll(closers);
    throw error;
  };
}

function mountRepositories(viewDir: string, candidateDir: string): Mount[] {
  return [
    { kind: 'bind', source: viewDir, target: VIEW, readOnly: true },
    { kind: 'bind', source: candidateDir, target: CANDIDATE, readOnly: true },
  ];
}
