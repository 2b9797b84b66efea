import { askOf } from './progress.ts';
import { causeRow, failsWithoutAgent } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import { formatIssueSource } from '../issues/issue-source.ts';
import { safeLine, printableShellWord } from '../text/safe-text.ts';
import { logOptionFor } from '../transcript/excerpt.ts';
import { canAnswer, canRetry, isOpenStory } from './actions.ts';
import { failedNeeds } from './run-dependencies.ts';
import { isQuestion } from './questions.ts';
import { isExhausted } from './plan.ts';
import { currentDecision, decisiveStory, type RunState, type StoryState } from './state.ts';

/** Something that a person can do next. A command is one form of it, a button another. */
export interface NextStep {
  do: keyof typeof COMMANDS;
  runId: string;
  story?: string;
  /** Of `logs`: only this log, by its path below the attempt. */
  log?: string;
  /** Of `answer`: the first of the proposed options. */
  option?: number;
  /** Of `run` and `submit`: the words that name the PRD and its repository. */
  input?: string;
  /** Of `retry`: the setting to change, with its value or `…`. */
  set?: string;
  why: string;
}

const COMMANDS = {
  answer: (step) => `halo answer ${placeOf(step)} ${step.option === undefined ? '"…"' : `--option ${step.option}`}`,
  approve: (step) => `halo approve ${placeOf(step)}`,
  cancel: (step) => `halo cancel ${placeOf(step)}`,
  check: () => 'halo check',
  continue: (step) => `halo run --resume ${step.runId}`,
  debug: (step) => `halo debug ${step.runId} ${printableShellWord(step.story ?? '')}`.trimEnd(),
  diff: (step) => `halo diff ${placeOf(step)}`,
  doctor: () => 'halo doctor',
  land: (step) => `halo land ${step.runId}`,
  logs: (step) => `halo logs ${placeOf(step)}${step.log === undefined ? '' : ` ${logOptionFor(step.log)}`}`,
  merge: (step) => `git merge --ff-only halo/${step.runId}`,
  'new tests': (step) => `halo retry ${step.runId} --new-tests`,
  pause: (step) => `halo pause ${step.runId}`,
  pull: (step) => `halo pr ${step.runId}`,
  reject: (step) => `halo reject ${placeOf(step)}`,
  replan: (step) => `halo resume ${step.runId} --replan`,
  reset: (step) => `halo breaker reset run:${step.runId}`,
  resume: (step) => `halo resume ${step.runId}`,
  retry: (step) => `halo retry ${placeOf(step)}${step.set === undefined ? '' : ` -c ${step.set}`}`,
  run: (step) => `halo run${inputText(step)}`,
  'send back': (step) => `halo reject ${placeOf(step)} --feedback "…"`,
  show: (step) => `halo show ${step.runId}`,
  status: (step) => `halo status ${step.runId}`,
  submit: (step) => `halo submit${inputText(step)}`,
  task: () => 'halo task',
  watch: (step) => `halo logs ${step.runId} -f`,
} satisfies Record<string, (step: Omit<NextStep, 'do' | 'why'>) => string>;

/** The command line of a step, for a shell. */
export function commandOf(step: Omit<NextStep, 'why'>): string {
  return COMMANDS[step.do](step);
}

/** Steps as command lines. */
export function toCommands(steps: readonly NextStep[]): { command: string; why: string }[] {
  return steps.map((step) => ({ command: commandOf(step), why: step.why }));
}

function inputText({ input }: Pick<NextStep, 'input'>): string {
  return input === undefined ? '' : ` ${input}`;
}

/** What a new run of the same work is started with, in the repository of the run; undefined: its PRD came from stdin. */
function inputOf({ prdPath, issues, repo }: RunState): string | undefined {
  if (issues !== undefined)
    return `--source ${printableShellWord(formatIssueSource(issues))} --label ${printableShellWord(issues.label)}`;
  if (prdPath === '-') return undefined;
  const inside = prdPath.startsWith(`${repo.source}/`) ? prdPath.slice(repo.source.length + 1) : prdPath;
  const elsewhere = repo.source.startsWith('/') ? '' : ` --repo ${printableShellWord(repo.source)}`;
  return `${printableShellWord(inside)}${elsewhere}`;
}

/** The run, and the story if there is one. */
function placeOf({ runId, story }: Pick<NextStep, 'runId' | 'story'>): string {
  return story === undefined ? runId : `${runId} --story ${printableShellWord(story)}`;
}

/** Suggests what to do next with a run, most useful first. */
export function nextSteps(state: RunState): NextStep[] {
  const { runId } = state;
  const isOpen = state.status !== 'ended';
  const held = state.stories.find((story) => story.held !== undefined);
  if (held !== undefined) {
    const of = { runId, story: held.id };
    return [
      { do: 'diff', ...of, why: 'look at what is waiting for you' },
      { do: 'approve', ...of, why: 'land it and continue the run' },
      { do: 'reject', ...of, why: isOpen ? 'reject it' : 'reject it, and end the run' },
      ...(isOpen ? stepsOfOpenRun(state) : []),
    ];
  }
  const asking = state.stories.find((story) => canAnswer(state, story) === true);
  const asked = asking === undefined ? [] : [answering(asking, runId)];
  if (isOpen) return [...asked, ...stepsOfOpenRun(state)];
  const stuck = decisiveStory(state);
  const steps = stuck === undefined ? [] : [...lookingAt(stuck, runId), ...(isQuestion(stuck) ? asked : [])];
  if (state.scratch) return steps;
  if (state.dry && state.stories.some(({ progress }) => progress === 'passed'))
    steps.push({ do: 'show', runId, why: 'read the descriptions' });
  if (isOfMachine(state, stuck))
    steps.unshift({ do: 'doctor', runId, why: 'see what is missing, on the machine of the worker' });
  if (state.tip !== state.repo.base && state.landed === undefined) {
    steps.push({ do: 'diff', runId, why: 'look at the change' });
    steps.push(...takingOver(state));
  }
  const again = stepsToContinue(state, stuck);
  // A run that a person stopped has no failure to investigate.
  if (state.stopReason === 'USER_ABORT') steps.unshift(...again);
  else steps.push(...again);
  if (steps.length === 0 && state.stopReason !== 'SUCCESS') steps.push({ do: 'logs', runId, why: 'see what happened' });
  return steps;
}

/** The next steps of a run whose branch `has moved`, so that it cannot be landed: without that. */
export function possibleSteps(state: RunState, hasMoved: boolean): NextStep[] {
  return nextSteps(state).filter((step) => !hasMoved || step.do !== 'land');
}

/** How a person takes over what a run has landed. A pull request is merged on the forge. */
export function landingStep({ runId, pull }: Pick<RunState, 'runId' | 'pull'>): Omit<NextStep, 'why'> {
  return { do: pull !== undefined && pull.ended === undefined ? 'pull' : 'land', runId };
}

const DEBUG = 'try it in a copy of the attempt';

/** How to inspect a story that failed or needs a person. */
function lookingAt(story: StoryState, runId: string): NextStep[] {
  const { id, failedLog, stopReason, attempts } = story;
  if (attempts === 0) return [];
  const logs = { do: 'logs', runId, story: id } as const;
  const ask = askOf(story);
  if (ask !== undefined) return [{ do: ask.first.do, runId, story: id, why: ask.first.why }];
  if (stopReason === 'APPROVAL_DENIED') return [{ ...logs, why: 'see what it did' }];
  return [
    { ...logs, why: 'see what went wrong' },
    ...(failedLog === undefined ? [] : [{ ...logs, log: failedLog, why: 'read the whole log of what failed' }]),
    // What failed is in a copy if the attempt reached its gates.
    ...(failedLog?.startsWith('gates/') ? [{ do: 'debug', runId, story: id, why: DEBUG } as const] : []),
  ];
}

/** The user enters the answer. */
function answering({ id, question }: StoryState, runId: string): NextStep {
  const options = question?.options?.length ?? 0;
  const why = 'answer its question: the story starts again with the answer';
  if (options === 0) return { do: 'answer', runId, story: id, why };
  return { do: 'answer', runId, story: id, option: 1, why: `${why}, 1 to ${options} or a text instead of --option` };
}

/** Failures of the environment, which `halo doctor` may find. */
function isOfMachine({ stopReason }: RunState, story: StoryState | undefined): boolean {
  const reasons: (StopReason | undefined)[] = ['INFRASTRUCTURE', 'MISSING_DEPENDENCY'];
  const doctor = causeRow(story?.lastFailure?.cause)?.helps === 'doctor';
  return doctor || reasons.includes(stopReason) || reasons.includes(story?.stopReason);
}

/** For an ended run: how to run its remaining stories. */
function stepsToContinue(state: RunState, stuck: StoryState | undefined): NextStep[] {
  const { runId, owner, stories, stopReason } = state;
  if (state.task)
    return stories.some(isOpenStory) ? [{ do: 'task', runId, why: 'start the task again, as a new run' }] : [];
  if (canRetry(state) !== true) return [];
  const { cause, limit } = stuck?.lastFailure ?? {};
  const check = { do: 'check', runId, why: 'try setup and gates without an agent' } as const;
  const input = inputOf(state);
  const fresh = (why: string): NextStep => ({
    ...{ do: owner === undefined ? 'submit' : 'run', runId },
    ...(input !== undefined && { input }),
    why: `start a new run, after ${why}`,
  });
  // The allowed hosts are fixed when the run is created.
  if (cause === 'network-missing') return [check, fresh('allowing it in [network] of halo.toml')];
  // The commit is fixed, too, so a missing program of the agent remains missing.
  if (cause === 'program-missing' && stuck?.stopReason === 'ENGINE_ERROR')
    return [fresh('adding the program to the commit or the image')];
  // Rates are fixed, too.
  if (limit?.startsWith('rate.')) return [fresh('raising rph in [rate] of config.toml')];
  const repair = repairOf(stuck);
  const once = causeRow(cause)?.once;
  // The user chooses the value.
  const set = limit === undefined ? once?.set : `${limit}=…`;
  const plain = stopReason === 'USER_ABORT' ? 'continue with the open stories' : 'retry, with fresh attempts';
  const why = limit === undefined ? (once?.why ?? plain) : 'retry with a higher limit: enter a value';
  const clear =
    stuck !== undefined && isQuestion(stuck)
      ? 'or continue, after changing the PRD'
      : 'continue, after making the PRD clearer';
  return [
    ...(isOfText(stuck) ? [{ do: 'replan', runId, why: clear } as const] : []),
    ...(isOfBase(stuck) && state.repo.source.startsWith('/') ? [check] : []),
    ...(repair === undefined ? [] : [fresh(repair)]),
    ...(failsItsTests(stuck)
      ? [{ do: 'new tests', runId, why: 'let other tests be written, if these cannot be met' } as const]
      : []),
    {
      // Without a setting, `halo run --resume` executes the run itself, so no worker is needed.
      ...{ do: owner !== undefined && set === undefined ? 'continue' : 'retry', runId },
      ...(set !== undefined && { set }),
      why: repair === undefined || once !== undefined ? why : 'retry on the same commit',
    },
  ];
}

/** What to change in the repository or its settings, which are fixed for the run. */
function repairOf(story: StoryState | undefined): string | undefined {
  return isOfBase(story) ? causeRow(story?.lastFailure?.cause)?.repair : undefined;
}

/** Whether a different wording of the PRD may help. */
function isOfText(story: StoryState | undefined): boolean {
  if (story !== undefined && isQuestion(story)) return true;
  const { stopReason, lastFailure } = story ?? {};
  const reasons: (StopReason | undefined)[] = ['APPROVAL_DENIED', 'POLICY_VIOLATION', 'TESTS_NOT_RED', 'TESTS_MISSING'];
  return reasons.includes(stopReason) || causeRow(lastFailure?.cause)?.helps === 'wording';
}

/** Whether no work on the story was the reason: setup failed, or a gate that fails on the base commit as well. */
function isOfBase(story: StoryState | undefined): boolean {
  return story?.stopReason === 'GATE_FAILED' && failsWithoutAgent(story.lastFailure?.cause);
}

/** Whether an implementation failed after the tests of the story were locked. */
function failsItsTests(story: StoryState | undefined): boolean {
  return story?.keptTests !== undefined && story.lastFailure?.class === 'gate';
}

/** For an ended run: how its commits get onto the user's branch, once nothing prevents it. */
function takingOver(state: RunState): NextStep[] {
  const { runId, repo, pull } = state;
  const verdict = currentDecision(state)?.verdict;
  if (verdict === 'rejected') return [{ do: 'approve', runId, why: 'approve it after all' }];
  if (state.needsApproval && verdict === undefined) {
    return [
      { do: 'approve', runId, why: 'approve the result, so that it can land' },
      { do: 'reject', runId, why: 'reject it' },
    ];
  }
  if (pull?.ended === 'merged') return [];
  if (pull !== undefined && pull.ended === undefined)
    return [{ ...landingStep(state), why: `merge its pull request: ${safeLine(pull.url, 300)}` }];
  // The run started without a branch.
  if (repo.branch === undefined) return [{ do: 'merge', runId, why: 'merge it' }];
  const isLocal = repo.source.startsWith('/');
  return [{ do: 'land', runId, why: isLocal ? `fast-forward ${safeLine(repo.branch)} to it` : 'push it' }];
}

/** For an open run: what it needs to continue, then how to watch it. */
function stepsOfOpenRun(state: RunState): NextStep[] {
  const { runId, paused } = state;
  const isLeft = (story: StoryState) => isExhausted(story) && !isQuestion(story) && canRetry(state, story.id) === true;
  const stuck = state.stories.find(isLeft);
  return [
    ...(paused === undefined ? [] : [{ do: 'resume', runId, why: 'continue it' } as const]),
    ...failedNeeds(state).map(({ run }): NextStep => ({
      ...{ do: 'retry', runId: run },
      why: 'retry the run that it is waiting for',
    })),
    ...(stuck === undefined
      ? []
      : [{ do: 'retry', runId, story: stuck.id, why: 'start it again, with fresh attempts' } as const]),
    { do: 'watch', runId, why: 'watch it' },
  ];
}
