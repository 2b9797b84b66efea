import { randomInt } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { Config } from '../config/config.ts';
import type { Prd } from '../core/prd/prd.ts';
import type { RunState } from '../core/run-state.ts';
import { storyKey } from '../core/run/story-key.ts';
import { updateMirror } from '../git/mirror/mirror.ts';
import { mirrorName } from '../git/repository/repo-url.ts';
import { openAttempt, type Attempt } from './attempt-context.ts';
import { unheard } from './check.ts';
import { runStep, type StepResult } from './run-step.ts';
import type { WorkerContext } from './worker-context.ts';
import type { StartedStep, Workspace } from './workspace.ts';

export interface OnCommit {
  /** In the place of a run's id. No id of a run looks like this, so that a worker's sweep leaves it alone. */
  name: 'verifying' | 'checking';
  /** The repository that has the commit. */
  gitDir: string;
  commit: string;
  story: { id: string; title: string };
  config: Config;
  signal: AbortSignal;
}

/** An attempt at nothing new on a commit: its sandboxes and volumes are as those of a story, but no run hears of it. */
export async function openOnCommit(worker: WorkerContext, request: OnCommit): Promise<Attempt> {
  const { name: runId, gitDir, commit, story, config, signal } = request;
  const mirror = mirrorName(gitDir);
  await updateMirror({ home: worker.home, name: mirror, from: gitDir, commit });
  const attempt = await openAttempt(worker, {
    runId,
    state: { repo: { mirror }, tip: commit, stories: [{ id: story.id, key: storyKey(story.id) }] } as RunState,
    base: commit,
    prd: { stories: [] } as Partial<Prd> as Prd,
    story: {
      ...story,
      description: '',
      acceptance: [],
      priority: undefined,
      dependsOn: [],
      status: 'pending',
      notes: '',
      extra: {},
    },
    number: 1,
    epoch: randomInt(1_000_000, 1_000_000_000),
    config,
    hostGitDir: gitDir,
    signal,
  });
  return unheard(attempt);
}

/** A command of the configuration that is about to run on a commit. */
export interface NextCommand {
  kind: 'setup' | 'gate';
  command: string;
  /** Of its log, e.g. `setup-1.log`. */
  name: string;
}

export interface EndedCommand extends NextCommand, StepResult, Pick<StartedStep, 'way' | 'restored'> {}

/**
 * Runs setup and gates of the attempt's configuration in a workspace that holds a commit, and gives each command when it
 * has ended. A setup command that does not exit 0 is the last one; gates all run. `openLog` takes the output of the next one.
 */
export async function* runCommands(
  attempt: Attempt,
  clean: Workspace,
  openLog: (next: NextCommand) => Writable,
): AsyncGenerator<EndedCommand> {
  const { setup, gates = [] } = attempt.config;
  const commands = [
    ...setup.map((command, index) => ({ kind: 'setup' as const, command, name: `setup-${index + 1}.log` })),
    ...gates.map((command, index) => ({ kind: 'gate' as const, command, name: `${index + 1}.log` })),
  ];
  for (const next of commands) {
    const started = await clean.take();
    const { command } = next;
    const result = await runStep(attempt, started, { command, log: openLog(next), phase: 'baseline' });
    yield { ...next, ...result, way: started.way, restored: started.restored };
    if (next.kind === 'setup' && result.exit.exitCode !== 0) return;
  }
}
