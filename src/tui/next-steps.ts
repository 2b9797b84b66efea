import { decisionOn } from '../core/decision.ts';
import { failedNeeds } from '../core/run/run-dependencies.ts';
import { logOption } from '../core/log-option.ts';
import type { RunState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { shellWord } from '../core/shell-word.ts';
import type { Paint } from '../core/transcript/transcript-line.ts';
import { widthOf } from '../lib/width.ts';
import { wrapToWidth } from '../lib/wrap.ts';

export interface NextStep {
  command: string;
  why: string;
}

/** What a person may want to do next with a run, most useful first. */
export function nextSteps(state: RunState): NextStep[] {
  const { runId } = state;
  const goesOn = state.status !== 'ended';
  const held = state.stories.find((story) => story.held !== undefined);
  if (held !== undefined) {
    const story = `${runId} --story ${shellWord(held.id)}`;
    return [
      { command: `halo diff ${story}`, why: 'look at what waits for you' },
      { command: `halo approve ${story}`, why: 'let it land, and the run go on' },
      { command: `halo reject ${story}`, why: goesOn ? 'refuse it' : 'refuse it, and end the run' },
      ...(goesOn ? goingOn(state) : []),
    ];
  }
  if (goesOn) return goingOn(state);
  const steps: NextStep[] = [];
  const stuck = state.stories.find((story) => story.progress === 'failed' || story.progress === 'needs_human');
  if (stuck?.lastFailure?.cause === 'key-refused')
    steps.push({ command: 'halo doctor', why: 'check the model key, on the machine of the worker' });
  if (stuck !== undefined) {
    const asks = stuck.progress === 'needs_human';
    const why = asks ? 'see what it did before it asked' : 'see what went wrong';
    steps.push({ command: `halo logs ${runId} --story ${shellWord(stuck.id)}`, why });
    if (!asks && stuck.failedLog !== undefined) {
      const command = `halo logs ${runId} --story ${shellWord(stuck.id)} ${logOption(stuck.failedLog)}`;
      steps.push({ command, why: 'read the whole log of what failed' });
    }
    if (asks) steps.push({ command: `halo resume ${runId} --replan`, why: 'go on, once the PRD has the answer' });
  }
  if (state.scratch) return steps.filter(({ command }) => command.startsWith('halo logs '));
  if (state.tip !== state.repo.base && state.landed === undefined) {
    steps.push({ command: `halo diff ${runId}`, why: 'look at the change' });
    steps.push(...takingOver(state));
  }
  const again = state.stories.some(({ progress }) => ['failed', 'needs_human', 'cancelled'].includes(progress));
  if (again) {
    const option = raiseOption(stuck);
    const why = option === '' ? 'do it again, with fresh attempts' : 'do it again with more room: put in a value';
    steps.push({ command: `halo retry ${runId}${option}`, why });
  }
  if (steps.length === 0 && state.stopReason !== 'SUCCESS')
    steps.push({ command: `halo logs ${runId}`, why: 'see what happened' });
  return steps;
}

/** The setting whose limit a story ran into, as an option. The value is for the person to choose. */
function raiseOption(story: RunState['stories'][number] | undefined): string {
  const key = /(?:raise (budget\.\w+)|\((limits\.(?:wall|idle|output|disk|memory|pids))\b)/.exec(story?.summary ?? '');
  const reasons = ['BUDGET_EXCEEDED', 'TIMEOUT', 'OUT_OF_MEMORY', 'ENGINE_ERROR'];
  if (key === null || !reasons.includes(story?.stopReason ?? '')) return '';
  return ` -c ${key[1] ?? key[2]}=…`;
}

/** For an ended run: how its commits get onto the user's branch, once nobody stands in the way. */
function takingOver(state: RunState): NextStep[] {
  const { runId, repo } = state;
  const verdict = decisionOn(state)?.verdict;
  if (verdict === 'rejected') return [{ command: `halo approve ${runId}`, why: 'take the no back' }];
  if (state.needsApproval && verdict === undefined) {
    return [
      { command: `halo approve ${runId}`, why: 'say yes to all of it, so that it can land' },
      { command: `halo reject ${runId}`, why: 'refuse it' },
    ];
  }
  // Of a run that began on no branch.
  if (repo.branch === undefined) return [{ command: `git merge --ff-only halo/${runId}`, why: 'take it over' }];
  if (!repo.source.startsWith('/')) return [{ command: `halo land ${runId}`, why: 'push it' }];
  return [{ command: `halo land ${runId}`, why: `fast-forward ${safeLine(repo.branch)} to it` }];
}

/** For an open run: what lets it go on where it does not by itself, then how to watch it. */
function goingOn(state: RunState): NextStep[] {
  const { runId, paused } = state;
  return [
    ...(paused === undefined ? [] : [{ command: `halo resume ${runId}`, why: 'let it go on' }]),
    ...failedNeeds(state).map(({ run }) => ({ command: `halo retry ${run}`, why: 'do again what it waits for' })),
    { command: `halo logs ${runId} -f`, why: 'watch it' },
  ];
}

const LEAST_REASON = 16;

/** Steps in aligned lines of at most `width` columns. A command is never broken: where it takes the line, its reason stands below. */
export function stepLines(steps: readonly NextStep[], width: number, paint: Paint): string[] {
  const widest = Math.max(0, ...steps.map(({ command }) => widthOf(command)));
  const beside = widest + 2 + LEAST_REASON <= width;
  const indent = beside ? widest + 2 : 4;
  return steps.flatMap(({ command, why }) => {
    const lines = wrapToWidth(why, Math.max(LEAST_REASON, width - indent)).map((line) => paint('quiet', line));
    const [first = '', ...rest] = lines;
    const head = beside ? [`${command}${' '.repeat(indent - widthOf(command))}${first}`] : [command, `    ${first}`];
    return [...head, ...rest.map((line) => `${' '.repeat(indent)}${line}`)];
  });
}
