import { SCREEN_KEYS } from '../../../view/action-keys.ts';

/** The screens of the reports in the navigation. */
export const SPEND = { path: 'spend', key: SCREEN_KEYS.spend, name: 'Spend' } as const;
export const FAILURES = { path: 'failures', key: SCREEN_KEYS.failures, name: 'Failures' } as const;
