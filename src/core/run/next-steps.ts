import type { FailureCause } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import { safeLine, printableShellWord } from '../text/safe-text.ts';
import { logOptionFor } from '../transcript/excerpt.ts';
import { failedNeeds } from './run-dependencies.ts';
import { isQuestion } from './questions.ts';
import { currentDecision, decisiveStory, type RunState } from './state.ts';

export interface NextStep {
  command: string;
  why: string;
}

/** Suggests the next commands for a run, most useful first. */
export function nextSteps(state: RunState): NextStep[] {
  const { runId } = state;
  const isOpen = state.status !== 'ended';
  const held = state.stories.find((story) => story.held !== undefined);
  if (held !== undefined) {
    const story = `${runId} --story ${printableShellWord(held.id)}`;
    return [
      { command: `halo diff ${story}`, why: 'look at what is waiting for you' },
      { command: `halo approve ${story}`, why: 'land it and continue the run' },
      { command: `halo reject ${story}`, why: isOpen ? 'reject it' : 'reject it, and end the run' },
      ...(isOpen ? stepsOfOpenRun(state) : []),
    ];
  }
  const asked = (state.task ? [] : state.stories)
    .filter(isQuestion)
    .slice(0, 1)
    .map(({ id, question }) => answering(id, { runId, options: question?.options?.length ?? 0 }));
  if (isOpen) return [...asked, ...stepsOfOpenRun(state)];
  const stuck = decisiveStory(state);
  const steps = stuck === undefined ? [] : [...lookingAt(stuck, runId), ...(isQuestion(stuck) ? asked : [])];
  if (state.scratch) return steps;
  if (state.dry && state.stories.some(({ progress }) => progress === 'passed'))
    steps.push({ command: `halo show ${runId}`, why: 'read the descriptions' });
  if (isOfMachine(state, stuck))
    steps.unshift({ command: 'halo doctor', why: 'see what is missing, on the machine of the worker' });
  if (state.tip !== state.repo.base && state.landed === undefined) {
    steps.push({ command: `halo diff ${runId}`, why: 'look at the change' });
    steps.push(...takingOver(state));
  }
  const again = stepsToContinue(state, stuck);
  // A run that a person stopped has no failure to investigate.
  if (state.stopReason === 'USER_ABORT') steps.unshift(...again);
  else steps.push(...again);
  if (steps.length === 0 && state.stopReason !== 'SUCCESS')
    steps.push({ command: `halo logs ${runId}`, why: 'see what happened' });
  return steps;
}

/** The command with which a person takes over what a run has landed. A pull request is merged on the forge. */
export function landingCommand({ runId, pull }: Pick<RunState, 'runId' | 'pull'>): string {
  return pull !== undefined && pull.ended === undefined ? `halo pr ${runId}` : `halo land ${runId}`;
}

type Story = RunState['stories'][number];

/** How to inspect a story that failed or needs a person. */
function lookingAt({ id, progress, failedLog, stopReason }: Story, runId: string): NextStep[] {
  const logs = `halo logs ${runId} --story ${printableShellWord(id)}`;
  if (progress === 'needs_human') return [{ command: logs, why: 'see what it did before it asked' }];
  const denied = stopReason === 'APPROVAL_DENIED';
  return [
    { command: logs, why: denied ? 'see what it did' : 'see what went wrong' },
    ...(denied || failedLog === undefined
      ? []
      : [{ command: `${logs} ${logOptionFor(failedLog)}`, why: 'read the whole log of what failed' }]),
  ];
}

/** The user enters the answer. */
function answering(story: string, { runId, options }: { runId: string; options: number }): NextStep {
  const command = `halo answer ${runId} --story ${printableShellWord(story)}`;
  const why = 'answer its question: the story starts again with the answer';
  if (options === 0) return { command: `${command} "…"`, why };
  return { command: `${command} --option 1`, why: `${why}, 1 to ${options} or a text instead of --option` };
}

/** Failures of the environment, which `halo doctor` may find. */
function isOfMachine({ stopReason }: RunState, story: Story | undefined): boolean {
  const causes: (FailureCause | undefined)[] = ['disk-floor', 'misconfigured', 'worker-died', 'server-away'];
  const reasons: (StopReason | undefined)[] = ['INFRASTRUCTURE', 'MISSING_DEPENDENCY'];
  return (
    causes.includes(story?.lastFailure?.cause) || reasons.includes(stopReason) || reasons.includes(story?.stopReason)
  );
}

/** What to change before a retry can succeed, and the option that changes it. */
const ONCE: Partial<Record<FailureCause, { option?: string; why: string }>> = {
  'key-refused': { why: 'retry, after fixing the key; a worker reads variables only at its start' },
  'not-paid': { why: 'retry, after paying for the account' },
  'unknown-model': { option: ' -c model.name=…', why: 'retry with another model' },
  'pause-too-long': { option: ' -c retry.max_wait=…', why: 'retry, and wait for longer: enter a duration' },
  'rate-limited': { why: 'retry, when the provider accepts requests again' },
  'provider-failed': { why: 'retry, when the provider works' },
  unreachable: { why: 'retry, when the provider can be reached' },
  'base-broken': {
    option: ' -c tests.broken_base=retry',
    why: 'retry on the same commit, and let the agent repair it',
  },
  'program-missing': { option: ' -c image=…', why: 'retry in an image that has the program' },
};

/** For an ended run: how to run its remaining stories. */
function stepsToContinue(state: RunState, stuck: Story | undefined): NextStep[] {
  const { runId, stories, owner } = state;
  const left = stories.some(
    ({ progress, held }) => held === undefined && !['passed', 'done', 'skipped'].includes(progress),
  );
  if (!left || state.refused || state.stopReason === 'NOTHING_RUNNABLE') return [];
  if (state.task) return [{ command: 'halo task', why: 'start the task again, as a new run' }];
  const check = { command: 'halo check', why: 'try setup and gates without an agent' };
  const fresh = owner === undefined ? 'halo submit' : 'halo run';
  // The allowed hosts are fixed when the run is created.
  if (stuck?.lastFailure?.cause === 'network-missing')
    return [check, { command: fresh, why: 'start a new run, after allowing it in [network] of halo.toml' }];
  // The commit is fixed, too, so a missing program of the agent remains missing.
  if (stuck?.lastFailure?.cause === 'program-missing' && stuck.stopReason === 'ENGINE_ERROR')
    return [{ command: fresh, why: 'start a new run, after adding the program to the commit or the image' }];
  // Rates are fixed, too.
  if (stuck?.lastFailure?.limit?.startsWith('rate.'))
    return [{ command: fresh, why: 'start a new run, after raising rph in [rate] of config.toml' }];
  const repair = repairOf(stuck);
  const raise = raiseOption(stuck);
  const once = stuck?.lastFailure?.cause === undefined ? undefined : ONCE[stuck.lastFailure.cause];
  const option = raise === '' ? (once?.option ?? '') : raise;
  const plain = state.stopReason === 'USER_ABORT' ? 'continue with the open stories' : 'retry, with fresh attempts';
  const why = raise === '' ? (once?.why ?? plain) : 'retry with a higher limit: enter a value';
  // Without options, `halo run --resume` executes the run itself, so no worker is needed.
  const command = owner !== undefined && option === '' ? `halo run --resume ${runId}` : `halo retry ${runId}${option}`;
  const asks = stuck?.progress === 'needs_human';
  const clear = asks ? 'or continue, after changing the PRD' : 'continue, after making the PRD clearer';
  return [
    ...(isOfText(stuck) ? [{ command: `halo resume ${runId} --replan`, why: clear }] : []),
    ...(failsWithoutAgent(stuck) && state.repo.source.startsWith('/') ? [check] : []),
    ...(repair === undefined ? [] : [{ command: fresh, why: `start a new run, after ${repair}` }]),
    ...(failsItsTests(stuck)
      ? [{ command: `halo retry ${runId} --new-tests`, why: 'let other tests be written, if these cannot be met' }]
      : []),
    { command, why: repair === undefined || once !== undefined ? why : 'retry on the same commit' },
  ];
}

/** What to change in the repository or its settings, which are fixed for the run. */
function repairOf(story: Story | undefined): string | undefined {
  if (!failsWithoutAgent(story)) return undefined;
  const { cause } = story?.lastFailure ?? {};
  if (cause === 'base-broken' || cause === 'base-fails')
    return 'repairing the gate or the repository and committing it';
  return cause === 'program-missing' ? 'correcting setup or the gate in halo.toml' : undefined;
}

/** Whether a different wording of the PRD may help. */
function isOfText(story: Story | undefined): boolean {
  if (story?.progress === 'needs_human') return true;
  const { stopReason, lastFailure } = story ?? {};
  const reasons: (StopReason | undefined)[] = ['APPROVAL_DENIED', 'POLICY_VIOLATION', 'TESTS_NOT_RED', 'TESTS_MISSING'];
  const causes: (FailureCause | undefined)[] = ['gave-up', 'no-changes', 'context-overflow'];
  return reasons.includes(stopReason) || causes.includes(lastFailure?.cause);
}

/** Whether no work on the story was the reason: setup failed, or a gate that fails on the base commit as well. */
function failsWithoutAgent(story: Story | undefined): boolean {
  if (story?.stopReason !== 'GATE_FAILED') return false;
  return story.lastFailure?.class === 'environment' || story.lastFailure?.cause === 'base-fails';
}

/** Whether an implementation failed after the tests of the story were locked. */
function failsItsTests(story: Story | undefined): boolean {
  return story?.keptTests !== undefined && story.lastFailure?.class === 'gate';
}

/** The setting whose limit a story ran into, as an option. The user chooses the value. */
function raiseOption(story: Story | undefined): string {
  const { limit } = story?.lastFailure ?? {};
  return limit === undefined ? '' : ` -c ${limit}=…`;
}

/** For an ended run: how its commits get onto the user's branch, once nothing prevents it. */
function takingOver(state: RunState): NextStep[] {
  const { runId, repo } = state;
  const verdict = currentDecision(state)?.verdict;
  if (verdict === 'rejected') return [{ command: `halo approve ${runId}`, why: 'approve it after all' }];
  if (state.needsApproval && verdict === undefined) {
    return [
      { command: `halo approve ${runId}`, why: 'approve the result, so that it can land' },
      { command: `halo reject ${runId}`, why: 'reject it' },
    ];
  }
  if (state.pull?.ended === 'merged') return [];
  if (state.pull !== undefined && state.pull.ended === undefined)
    return [{ command: landingCommand(state), why: `merge its pull request: ${safeLine(state.pull.url, 300)}` }];
  // The run started without a branch.
  if (repo.branch === undefined) return [{ command: `git merge --ff-only halo/${runId}`, why: 'merge it' }];
  if (!repo.source.startsWith('/')) return [{ command: `halo land ${runId}`, why: 'push it' }];
  return [{ command: `halo land ${runId}`, why: `fast-forward ${safeLine(repo.branch)} to it` }];
}

/** For an open run: what it needs to continue, then how to watch it. */
function stepsOfOpenRun(state: RunState): NextStep[] {
  const { runId, paused } = state;
  return [
    ...(paused === undefined ? [] : [{ command: `halo resume ${runId}`, why: 'continue it' }]),
    ...failedNeeds(state).map(({ run }) => ({
      command: `halo retry ${run}`,
      why: 'retry the run that it is waiting for',
    })),
    { command: `halo logs ${runId} -f`, why: 'watch it' },
  ];
}
