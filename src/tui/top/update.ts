import type { Unconfirmed } from '../../core/failure/errors.ts';
import { confirmationOfAll } from '../../core/review/flags.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { omit } from '../../core/run/state.ts';
import { SEQUENCE_START, typedKeys } from '../../view/action-keys.ts';
import { commandOf, isAction, type KeyCommand } from './key-table.ts';
import {
  isPrdAction,
  planAction,
  planReset,
  type Action,
  type ActionName,
  type Planned,
  type PrdActionName,
} from './actions.ts';
import { nameEntered, openPrd, planPrdAction } from './prds/prd-actions.ts';
import { findDiffLine } from './body-lines.ts';
import { parseCommand } from './command-line.ts';
import { addEvents, followNothing, LOG_KINDS } from './followed-run.ts';
import { activeFirst, findBreaker, findTarget } from './listing.ts';
import {
  bodyHeight,
  currentTopView,
  findRun,
  newTopView,
  withTopView,
  type TopSource,
  type TopEvent,
  type TopState,
  type ViewName,
} from './model.ts';
import { move, showRefusal, toMatch } from './navigate.ts';
import { editInputLine, paste } from './edit-input-line.ts';
import { storyToShow } from '../../view/facts.ts';

/** The state after an event. Pure: what is to be read or executed follows from the state (neededSources, `acting`). */
export function update(state: TopState, event: TopEvent): TopState {
  switch (event.type) {
    case 'ticked':
      return { ...state, now: event.now };
    case 'resized':
      return { ...state, width: event.width, height: event.height };
    case 'listed':
      return received(state, 'runs', { runs: event.runs, older: event.older });
    case 'workers-listed':
      return received(state, 'workers', { workers: event.workers, outages: event.outages });
    case 'breakers-listed':
      return received(state, 'breakers', { breakers: event.breakers });
    case 'costs-reported':
      return received(state, 'costs', { costs: event.costs });
    case 'prds-listed':
      return received(state, 'prds', { prds: event.prds });
    case 'viewed':
      return received(state, 'view', { view: event.view, settings: event.settings });
    case 'diff-read': {
      const { runId, story, read } = event;
      return received(state, 'diff', { diff: { runId, story, read } });
    }
    case 'followed': {
      const before = state.run?.runId === event.runId ? state.run : followNothing(event.runId);
      return received(state, 'run', { run: addEvents(before, event.events) });
    }
    case 'failed':
      return { ...state, failures: { ...state.failures, [event.source]: event.failure } };
    case 'acted':
      return acted(state, { tone: 'good', text: `✓ ${event.text}` });
    case 'refused': {
      const { message, hint, unconfirmed } = event.failure;
      const { acting } = state;
      const asked = acting && unconfirmed && askAgain(acting, message, unconfirmed);
      if (asked !== undefined) return { ...omit(state, 'acting'), question: asked };
      return acted(state, { tone: 'bad', text: `✗ ${[message, hint].filter((each) => each !== undefined).join(' ')}` });
    }
    case 'pasted':
      return state.inputLine === undefined ? state : { ...state, inputLine: paste(state.inputLine, event.text) };
    case 'key':
      return press(state, event.key);
  }
}

/** Asks for all that the operation demands of the commit that the question showed. */
function askAgain(action: Action, message: string, unconfirmed: Unconfirmed): TopState['question'] {
  const confirmation = confirmationOfAll(action.confirmation ?? {}, unconfirmed);
  return confirmation && { text: `${safeLine(message, 400)} Confirm it?`, action: { ...action, confirmation } };
}

function received(state: TopState, source: TopSource, data: Partial<TopState>): TopState {
  const failures = Object.fromEntries(Object.entries(state.failures).filter(([name]) => name !== source));
  return { ...state, ...data, failures };
}

function acted(state: TopState, notice: TopState['notice'] & object): TopState {
  return { ...omit(state, 'acting'), notice, reload: state.reload + 1 };
}

function press(before: TopState, key: string): TopState {
  if (key === 'ctrl-c') return { ...before, ended: true };
  if (before.question !== undefined) return answer(omit(before, 'firstKey'), key);
  const state = omit(before, 'notice', 'firstKey');
  if (state.inputLine !== undefined) return typed(state, key);
  const keys = typedKeys(before.firstKey, key);
  if (keys === undefined) return { ...state, firstKey: SEQUENCE_START };
  const command = commandOf(keys, currentTopView(state).view);
  return command === undefined ? state : perform(state, command);
}

function answer(state: TopState, key: string): TopState {
  const { question, ...rest } = state;
  if (question === undefined || (key !== 'y' && key !== 'n' && key !== 'escape')) return state;
  if (key !== 'y') return { ...rest, notice: { tone: 'quiet', text: 'Nothing was changed.' } };
  if (question.action.name === 'reject')
    return { ...rest, inputLine: { kind: 'reason', text: '', action: question.action } };
  return { ...rest, acting: question.action };
}

/** A key in a line of input. */
function typed(state: TopState, key: string): TopState {
  const { inputLine, ...rest } = state;
  if (inputLine === undefined) return state;
  const edited = editInputLine(inputLine, key, state.runs);
  if (edited === 'closed') return inputLine.kind === 'filter' ? withTopView(rest, { filter: '' }) : rest;
  if (edited !== 'entered') {
    const next = { ...state, inputLine: edited };
    // The filter applies while it is typed.
    return inputLine.kind === 'filter' ? withTopView(next, { filter: edited.text.trim() }) : next;
  }
  switch (inputLine.kind) {
    case 'filter':
      return currentTopView(rest).view === 'diff' ? toMatch(rest, 1) : rest;
    case 'reason': {
      const text = inputLine.text.trim();
      return inputLine.action === undefined
        ? rest
        : { ...rest, acting: { ...inputLine.action, ...(text !== '' && { text }) } };
    }
    case 'answer': {
      const text = inputLine.text.trim();
      if (inputLine.action === undefined || text === '') return rest;
      const { story = '', runId } = inputLine.action;
      const question = `Send this answer to ${safeLine(story, 40)} of run ${runId}, and start it again?`;
      return { ...rest, question: { action: { ...inputLine.action, text }, text: question } };
    }
    case 'message': {
      const text = inputLine.text.trim();
      return inputLine.action === undefined || text === '' ? rest : { ...rest, acting: { ...inputLine.action, text } };
    }
    case 'name':
      return nameEntered(rest, inputLine.text);
    case 'command':
      return inputLine.text.trim() === '' ? rest : enter(rest, inputLine.text);
  }
}

function enter(state: TopState, text: string): TopState {
  const parsed = parseCommand(text, state.runs);
  switch (parsed.kind) {
    case 'quit':
      return { ...state, ended: true };
    case 'invalid':
      return showRefusal(state, parsed.message);
    case 'view':
      return show(state, parsed.view, parsed.runId);
    case 'action':
      return act(state, parsed.name, parsed.runId);
  }
}

/** What an action of a key or command would be for what is selected. */
export function planFor(state: TopState, name: ActionName, named?: string): Planned {
  const breaker = named === undefined && name === 'reset' ? findBreaker(state) : undefined;
  if (breaker !== undefined) return planReset(breaker);
  const target = named === undefined ? findTarget(state) : { runId: named };
  if (target === undefined) return { refusal: 'No run is selected.' };
  const run = findRun(state, target.runId);
  if (run === undefined) return { refusal: `Run ${target.runId} was not read yet. Try again.` };
  return planAction(name, run, 'story' in target ? target.story : undefined);
}

/** Performs an action, after a question if it cannot be taken back. */
function act(state: TopState, name: ActionName | PrdActionName, named?: string): TopState {
  if (state.acting !== undefined) return showRefusal(state, `${state.acting.name} is still in progress.`);
  if (isPrdAction(name)) return planPrdAction(state, name);
  const planned = planFor(state, name, named);
  if ('refusal' in planned) return showRefusal(state, planned.refusal);
  if (planned.action.name === 'answer')
    return { ...state, inputLine: { kind: 'answer', text: '', action: planned.action } };
  if (planned.action.name === 'tell') {
    const { action, question: label = '' } = planned;
    return { ...state, inputLine: { kind: 'message', text: '', action, label } };
  }
  return planned.question === undefined
    ? { ...state, acting: planned.action }
    : { ...state, question: { action: planned.action, text: planned.question } };
}

/** Opens a view. Views of all runs replace everything that is open. */
function show(state: TopState, view: ViewName, named?: string): TopState {
  switch (view) {
    case 'help':
      return currentTopView(state).view === 'help' ? state : { ...state, stack: [...state.stack, newTopView('help')] };
    case 'runs':
    case 'inbox':
    case 'workers':
    case 'spend':
    case 'prds':
      return { ...state, stack: view === 'runs' ? [newTopView('runs')] : [newTopView('runs'), newTopView(view)] };
    case 'stories':
    case 'logs':
    case 'diff':
    case 'settings': {
      const target = named === undefined ? findTarget(state) : { runId: named };
      if (target === undefined) return showRefusal(state, 'No run is selected.');
      const { runId } = target;
      const story = view === 'logs' || view === 'diff' ? ('story' in target ? target.story : undefined) : undefined;
      const run = findRun(state, runId);
      const selected = ('story' in target ? target.story : undefined) ?? (run && storyToShow(run)?.id);
      const place = {
        ...newTopView(view, { runId, ...(story !== undefined && { story }) }),
        ...(view === 'stories' && selected !== undefined && { selected }),
      };
      return forRun({ ...state, stack: [...belowView(state, view), place] }, runId);
    }
  }
}

/** The open views without the ones of the same kind, so that `t` and Tab do not make the stack longer. */
function belowView({ stack }: TopState, view: ViewName): TopState['stack'] {
  const open = stack.findIndex((place) => place.view === view);
  return open === -1 ? stack : stack.slice(0, open);
}

/** Forgets what is known about another run. */
function forRun(state: TopState, runId: string): TopState {
  const { run, view } = state;
  return {
    ...omit(state, 'run', 'view', 'diff'),
    failures: omit(state.failures, 'run', 'view', 'diff'),
    ...(run?.runId === runId ? { run } : {}),
    ...(view?.state.runId === runId ? { view } : {}),
  };
}

function perform(state: TopState, command: KeyCommand): TopState {
  if (isAction(command)) return act(state, command);
  const place = currentTopView(state);
  const page = Math.max(1, bodyHeight(state) - 2);
  switch (command) {
    case 'up':
      return move(state, -1);
    case 'down':
      return move(state, 1);
    case 'page-up':
      return move(state, -page);
    case 'page-down':
      return move(state, page);
    case 'first':
      return move(state, -Infinity);
    case 'last':
      return move(state, Infinity);
    case 'open':
      if (place.view === 'prds' && place.prd === undefined) return openPrd(state);
      return show(state, place.view === 'stories' ? 'logs' : 'stories');
    case 'back':
      if (place.filter !== '' || place.kind !== 'all') return withTopView(state, { filter: '', kind: 'all' });
      return state.stack.length === 1 ? state : { ...state, stack: state.stack.slice(0, -1) };
    case 'quit':
      return { ...state, ended: true };
    case 'command':
      return { ...state, inputLine: { kind: 'command', text: '' } };
    case 'filter':
      return { ...state, inputLine: { kind: 'filter', text: place.filter } };
    case 'reload':
      return { ...state, reload: state.reload + 1, notice: { tone: 'quiet', text: 'Reading everything again.' } };
    case 'next-run':
      return otherRun(state, 1);
    case 'previous-run':
      return otherRun(state, -1);
    case 'toggle':
      return show(state, place.view === 'stories' ? 'logs' : 'stories');
    case 'kind': {
      const kind = LOG_KINDS[(LOG_KINDS.indexOf(place.kind) + 1) % LOG_KINDS.length] ?? 'all';
      return { ...state, stack: [...state.stack.slice(0, -1), { ...omit(place, 'offset'), kind }] };
    }
    case 'wrap':
      return withTopView(state, { wrap: !place.wrap });
    case 'next-match':
      return toMatch(state, 1);
    case 'previous-match':
      return toMatch(state, -1);
    case 'next-file':
    case 'previous-file': {
      const line = findDiffLine(state, { by: command === 'next-file' ? 1 : -1 });
      return line === undefined ? showRefusal(state, 'There is no other file.') : withTopView(state, { offset: line });
    }
    case 'help':
    case 'logs':
    case 'diff':
    case 'stories':
    case 'settings':
    case 'runs':
    case 'inbox':
    case 'workers':
    case 'spend':
    case 'prds':
      return show(state, command);
    case 'submit':
    case 'create':
    case 'edit':
      return act(state, command);
  }
}

/** The same view of the next active run; without active runs, of the next run. */
function otherRun(state: TopState, by: 1 | -1): TopState {
  const { runId, view } = currentTopView(state);
  const all = activeFirst(state.runs ?? []);
  const active = all.filter((run) => run.status !== 'ended' || run.runId === runId);
  const order = active.length > 1 ? active : all;
  const at = order.findIndex((run) => run.runId === runId);
  const next = order[(at + by + order.length) % order.length];
  return next === undefined || next.runId === runId
    ? showRefusal(state, 'There is no other run.')
    : show(state, view, next.runId);
}
