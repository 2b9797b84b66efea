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
  pull: 'O',
  pause: 'p',
  replan: 'P',
  retry: 'r',
  sendBack: 's',
  reject: 'X',
} as const;
