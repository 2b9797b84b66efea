import type { User } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import type { CallOperation } from '../operations/operation.ts';
import type { OperationContext } from '../operations/operation.ts';
import { assertMayUse, authorize } from './authorize.ts';
import type { Inspections } from './inspections.ts';

/** How requests of a caller are treated. */
export interface CallerOptions extends Pick<OperationContext, 'undecided'> {
  /** The name in journals. */
  by?: string;
}

/**
 * Runs operations for a user of the server. `shared.store` shows only what the user may see. Each call is authorized
 * first, and denials are recorded in the access log.
 */
export function callForUser(
  { inspections, ...shared }: Omit<OperationContext, 'by' | 'remote'> & { inspections: Inspections },
  caller: User,
  { by = caller.name, ...how }: CallerOptions,
): CallOperation {
  const log = new AccessLog(shared.host.home);
  const context: OperationContext = {
    ...shared,
    ...how,
    user: caller.name,
    caller,
    by,
    remote: true,
    ...(caller.repositories && { assertMayUse: (source: string) => assertMayUse(caller, source) }),
  };
  return async (operation, input, signal) => {
    try {
      await authorize(operation, input as object, { user: caller, store: shared.store });
      const run = () => operation.run(context, input, signal);
      return await (operation.inspects === true ? inspections.run(caller.name, signal, run) : run());
    } catch (error) {
      if (error instanceof HaloError && error.code === 'ACCESS_DENIED')
        await log.append({
          at: new Date().toISOString(),
          type: 'operation.denied',
          user: caller.name,
          operation: operation.name,
          reason: error.message,
        });
      throw error;
    }
  };
}
