import type { Operations } from '../../../api/operations.ts';
import type { DailyCosts } from '../../../tui/top/model.ts';

/** The costs of all attempts by day, for `halo top`. */
export function readCosts(operations: Operations): Promise<DailyCosts> {
  return operations.reportCosts({ by: 'day' });
}
