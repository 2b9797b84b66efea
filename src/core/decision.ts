import type { RunDecision } from './control.ts';
import type { RunState } from './run-state.ts';

/** A person's last word on all that a run has made; a word on less of it counts no more. */
export function decisionOn({ decision, tip }: Pick<RunState, 'decision' | 'tip'>): RunDecision | undefined {
  return decision?.tip === tip ? decision : undefined;
}
