/** The screens of the navigation, with their keys. */
export const SCREENS = [
  { path: '', key: '1', name: 'Now' },
  { path: 'inbox', key: '2', name: 'Inbox' },
  { path: 'spend', key: '3', name: 'Spend' },
  { path: 'failures', key: '4', name: 'Failures' },
  { path: 'submit', key: '5', name: 'Submit' },
  { path: 'settings', key: '6', name: 'Settings' },
] as const;

/** The keys of the dashboard, by the place in which they work. */
export const KEY_GROUPS: readonly { name: string; keys: readonly [key: string, action: string][] }[] = [
  {
    name: 'Everywhere',
    keys: [
      ['1 – 6', 'open a screen'],
      ['Ctrl K', 'go to a screen, run or story'],
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
      ['a', 'approve'],
      ['x', 'reject'],
      ['1 – 9', 'choose a proposed answer'],
      ['Ctrl Enter', 'send the answer'],
      ['l', 'land'],
      ['r', 'reset a breaker, or retry after an exhausted budget'],
    ],
  },
  {
    name: 'Run',
    keys: [
      ['p', 'pause or resume'],
      ['l', 'land'],
      ['f', 'follow the log'],
    ],
  },
  {
    name: 'Review',
    keys: [
      ['j', 'next file'],
      ['k', 'previous file'],
      ['n', 'next change'],
      ['p', 'previous change'],
      ['v', 'mark the file as viewed'],
      ['c', 'comment on the focused line, or on the first change of the file'],
      ['a', 'approve'],
      ['x', 'reject'],
      ['s', 'send back with your comments'],
      ['l', 'land'],
      ['o', 'open a pull request'],
    ],
  },
];
