/**
 * The keys of actions in the dashboard and in `halo top`. What cannot be taken back has a capital; it, and only it, is asked
 * about before it is done.
 */
export const ACTION_KEYS = {
  approve: 'a',
  answer: 'A',
  reset: 'b',
  cancel: 'C',
  interrupt: 'i',
  land: 'L',
  tell: 'm',
  pull: 'O',
  pause: 'p',
  replan: 'P',
  retry: 'r',
  sendBack: 's',
  reject: 'X',
} as const;

/**
 * The keys of screens and views in the dashboard and in `halo top`, each after `g`. Digits open none: they choose a proposed
 * answer.
 */
export const SCREEN_KEYS = {
  failures: 'g f',
  inbox: 'g i',
  runs: 'g n',
  prds: 'g p',
  spend: 'g s',
  workers: 'g w',
  settings: 'g ,',
} as const;

/**
 * A key, or the two of a sequence, such as `g i`; undefined: the key begins a sequence. `first`: the key before it, if it began
 * one.
 */
export function typedKeys(first: string | undefined, key: string): string | undefined {
  if (first !== undefined) return `${first} ${key}`;
  return key === SEQUENCE_START ? undefined : key;
}

/** The first key of all sequences. */
export const SEQUENCE_START = 'g';
