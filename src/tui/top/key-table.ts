import { ACTIONS, type ActionName, type PrdActionName } from './actions.ts';
import { ACTION_KEYS, SCREEN_KEYS } from '../../view/action-keys.ts';
import type { ViewName } from './model.ts';

/** What a key does. */
export type KeyCommand =
  | ActionName
  | PrdActionName
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'first'
  | 'last'
  | 'open'
  | 'back'
  | 'quit'
  | 'command'
  | 'filter'
  | 'help'
  | 'reload'
  | 'next-run'
  | 'previous-run'
  | 'logs'
  | 'diff'
  | 'stories'
  | 'toggle'
  | 'settings'
  | 'kind'
  | 'wrap'
  | 'next-match'
  | 'previous-match'
  | 'next-file'
  | 'previous-file'
  | 'runs'
  | 'inbox'
  | 'workers'
  | 'spend'
  | 'prds';

export interface KeyBinding {
  /** Names of keys, as read-keys.ts names them, or of a sequence of two; the first one is shown. */
  keys: readonly string[];
  command: KeyCommand;
  /** Absent: every view. */
  views?: readonly ViewName[];
  /** For the line of keys; absent: only on the help page. */
  short?: string;
  meaning: string;
}

const RUN_LISTS: readonly ViewName[] = ['runs', 'inbox', 'spend', 'workers'];
export const OF_RUN: readonly ViewName[] = ['stories', 'logs', 'diff', 'settings'];
export const WITH_RUN: readonly ViewName[] = [...RUN_LISTS, 'prds', ...OF_RUN];

/** Every key. Help, the line of keys and docs/dashboard.md are made from this table. */
export const KEYS: readonly KeyBinding[] = [
  {
    keys: ['enter'],
    command: 'open',
    views: [...RUN_LISTS, 'prds', 'stories'],
    short: 'open',
    meaning: 'open the selected run, PRD, or log of a story',
  },
  {
    keys: ['s'],
    command: 'submit',
    views: ['prds'],
    short: 'start',
    meaning: 'start the PRD: submit its open stories as a run',
  },
  { keys: ['n'], command: 'create', views: ['prds'], short: 'new', meaning: 'create a named PRD, as halo prd new' },
  { keys: ['e'], command: 'edit', views: ['prds'], short: 'edit', meaning: 'edit a named PRD in $VISUAL or $EDITOR' },
  { keys: ['l'], command: 'logs', views: WITH_RUN, short: 'logs', meaning: 'log of the run or the selected story' },
  { keys: ['d'], command: 'diff', views: WITH_RUN, short: 'diff', meaning: 'diff of the run or the selected story' },
  { keys: ['escape', 'backspace'], command: 'back', short: 'back', meaning: 'close the filter or the view' },
  {
    keys: [ACTION_KEYS.approve],
    command: 'approve',
    views: WITH_RUN,
    short: 'approve',
    meaning: 'approve the commit of the story, or the result of the run; for a question, the same as A',
  },
  {
    keys: [ACTION_KEYS.reject],
    command: 'reject',
    views: WITH_RUN,
    short: 'reject',
    meaning: 'reject it, with a reason',
  },
  {
    keys: [ACTION_KEYS.answer],
    command: 'answer',
    views: WITH_RUN,
    short: 'answer',
    meaning: 'answer the question of a story, which then starts again',
  },
  {
    keys: [ACTION_KEYS.tell],
    command: 'tell',
    views: WITH_RUN,
    short: 'message',
    meaning: 'send a message to the agent of a story, or into its next prompt',
  },
  {
    keys: [ACTION_KEYS.pause],
    command: 'pause',
    views: WITH_RUN,
    short: 'pause',
    meaning: 'pause the run after its running stories; a paused run: resume it',
  },
  {
    keys: [ACTION_KEYS.interrupt],
    command: 'stop',
    views: WITH_RUN,
    short: 'interrupt',
    meaning: 'pause the run now and interrupt its running stories',
  },
  {
    keys: [ACTION_KEYS.replan],
    command: 'replan',
    views: WITH_RUN,
    meaning: 'continue with the PRD file as it is now',
  },
  {
    keys: [ACTION_KEYS.retry],
    command: 'retry',
    views: WITH_RUN,
    short: 'retry',
    meaning: 'retry what failed, or the selected story',
  },
  {
    keys: [ACTION_KEYS.reset],
    command: 'reset',
    views: WITH_RUN,
    short: 'reset',
    meaning: 'close the selected circuit breaker, or that of the run; its stories continue',
  },
  {
    keys: [ACTION_KEYS.cancel],
    command: 'cancel',
    views: WITH_RUN,
    short: 'cancel',
    meaning: 'cancel the run, or the selected story',
  },
  {
    keys: [ACTION_KEYS.land],
    command: 'land',
    views: WITH_RUN,
    short: 'land',
    meaning: 'fast-forward your branch to the result of the run',
  },
  { keys: ['u'], command: 'stories', views: WITH_RUN, short: 'stories', meaning: 'state and stories of the run' },
  { keys: ['t'], command: 'toggle', views: OF_RUN, meaning: 'switch between stories and log' },
  { keys: [','], command: 'settings', views: WITH_RUN, meaning: 'settings of the run' },
  { keys: ['tab'], command: 'next-run', views: OF_RUN, short: 'next run', meaning: 'next active run' },
  { keys: ['shift-tab'], command: 'previous-run', views: OF_RUN, meaning: 'previous active run' },
  {
    keys: ['f'],
    command: 'kind',
    views: ['logs'],
    short: 'kind',
    meaning: 'lines of the log: all, problems, agent, commands, progress',
  },
  { keys: ['w'], command: 'wrap', views: ['logs', 'diff'], short: 'wrap', meaning: 'wrap or truncate long lines' },
  { keys: ['n'], command: 'next-match', views: ['diff'], meaning: 'next line that matches the filter' },
  { keys: ['N'], command: 'previous-match', views: ['diff'], meaning: 'previous line that matches the filter' },
  { keys: [']'], command: 'next-file', views: ['diff'], short: 'file', meaning: 'next file' },
  { keys: ['['], command: 'previous-file', views: ['diff'], meaning: 'previous file' },
  { keys: ['up', 'k'], command: 'up', meaning: 'up' },
  { keys: ['down', 'j'], command: 'down', meaning: 'down' },
  { keys: ['page-up', 'ctrl-b'], command: 'page-up', meaning: 'one page up' },
  { keys: ['page-down', 'ctrl-f', 'space'], command: 'page-down', meaning: 'one page down' },
  { keys: ['home', 'g g'], command: 'first', meaning: 'to the start' },
  { keys: ['end', 'G'], command: 'last', meaning: 'to the end; a log then follows new lines' },
  { keys: [SCREEN_KEYS.runs], command: 'runs', meaning: 'all runs' },
  { keys: [SCREEN_KEYS.inbox], command: 'inbox', meaning: 'what waits for a decision' },
  { keys: [SCREEN_KEYS.workers], command: 'workers', meaning: 'workers and waiting stories' },
  { keys: [SCREEN_KEYS.spend], command: 'spend', meaning: 'tokens and costs' },
  { keys: [SCREEN_KEYS.prds], command: 'prds', meaning: 'PRDs of this repository' },
  {
    keys: [':'],
    command: 'command',
    short: 'command',
    meaning: 'enter a command: a view, an action or quit; Tab completes',
  },
  { keys: ['/'], command: 'filter', short: 'filter', meaning: 'filter by words; with a leading ! lines without them' },
  { keys: ['ctrl-r'], command: 'reload', meaning: 'read everything again' },
  { keys: ['?'], command: 'help', short: 'help', meaning: 'the list of keys' },
  { keys: ['q', 'ctrl-c'], command: 'quit', short: 'quit', meaning: 'quit; runs continue' },
];

/** The command of a key, or a sequence, in a view. */
export function commandOf(key: string, view: ViewName): KeyCommand | undefined {
  return KEYS.find(({ keys, views }) => keys.includes(key) && (views?.includes(view) ?? true))?.command;
}

export function isAction(command: string): command is ActionName {
  return (ACTIONS as readonly string[]).includes(command);
}

const SHOWN: Record<string, string> = {
  escape: 'Esc',
  enter: 'Enter',
  tab: 'Tab',
  'shift-tab': 'Shift-Tab',
  backspace: 'Backspace',
  up: 'Up',
  down: 'Down',
  'page-up': 'PgUp',
  'page-down': 'PgDn',
  home: 'Home',
  end: 'End',
  space: 'Space',
};

/** The name of a key for people. */
export function keyLabel(key: string): string {
  return SHOWN[key] ?? key.replace(/^ctrl-./, (name) => `Ctrl-${name.slice(-1).toUpperCase()}`);
}
