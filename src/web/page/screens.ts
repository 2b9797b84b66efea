import { FAILURES, SPEND } from '../../features/reports/web/screens.ts';
import { ACTION_KEYS, SCREEN_KEYS } from '../../view/action-keys.ts';

/** The screens of the navigation, with their keys. */
export const SCREENS = [
  { path: '', key: SCREEN_KEYS.runs, name: 'Now' },
  { path: 'inbox', key: SCREEN_KEYS.inbox, name: 'Inbox' },
  SPEND,
  FAILURES,
  { path: 'submit', key: SCREEN_KEYS.prds, name: 'Submit' },
  { path: 'settings', key: SCREEN_KEYS.settings, name: 'Settings' },
] as const;

/** The keys of the dashboard, by the place in which they work. */
export const KEY_GROUPS: readonly { name: string; keys: readonly [key: string, action: string][] }[] = [
  {
    name: 'Everywhere',
    keys: [
      ...SCREENS.map(({ key, name }): [string, string] => [key, `open ${name}`]),
      ['Ctrl K', 'go to a screen, run or story, or run an action of the page'],
      ['/', 'search in the screen'],
      ['?', 'show the keys'],
      ['Esc', 'close the menu or a window'],
    ],
  },
  {
    name: 'Inbox',
    keys: [
      ['j', 'next entry'],
      ['k', 'previous entry'],
      [ACTION_KEYS.approve, 'approve'],
      [ACTION_KEYS.reject, 'reject'],
      ['1 – 9', 'choose a proposed answer'],
      ['Ctrl Enter', 'send the answer'],
      [ACTION_KEYS.land, 'land'],
      [ACTION_KEYS.reset, 'reset a breaker'],
      [ACTION_KEYS.retry, 'retry after an exhausted budget'],
    ],
  },
  {
    name: 'Run',
    keys: [
      [ACTION_KEYS.pause, 'pause or resume'],
      [ACTION_KEYS.retry, 'retry'],
      [ACTION_KEYS.cancel, 'cancel'],
      [ACTION_KEYS.land, 'land'],
      ['f', 'follow the log'],
    ],
  },
  {
    name: 'Review',
    keys: [
      ['j', 'next file'],
      ['k', 'previous file'],
      ['n', 'next change'],
      ['N', 'previous change'],
      ['v', 'mark the file as viewed'],
      ['c', 'comment on the focused line, or on the first change of the file'],
      [ACTION_KEYS.approve, 'approve'],
      [ACTION_KEYS.reject, 'reject'],
      [ACTION_KEYS.sendBack, 'send back with your comments'],
      [ACTION_KEYS.land, 'land'],
      [ACTION_KEYS.pull, 'open a pull request'],
    ],
  },
];
