import type { SubmitOptions } from './schemas.ts';
import { RIGHTS, rightsOf, type Right } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import { REMOTE_USER } from '../submit/user-name.ts';
import type { OperationContext } from './operation-context.ts';

type Sender = Pick<OperationContext, 'caller' | 'undecided'>;

/**
 * The options of a submit; for a request over the network, with the restrictions of such requests. Throws
 * CONFIG_INVALID, ACCESS_DENIED.
 */
export async function requestedOptions(
  { remote, ...sender }: Pick<OperationContext, 'remote'> & Sender,
  options: SubmitOptions,
): Promise<SubmitOptions> {
  if (!remote) return options;
  const { assertRemoteOptions } = await import('../../config/trust/trust.ts');
  assertRemoteOptions(options.set);
  const rights = rightsOfCaller(sender);
  if (options.withoutGates === true && !rights.includes('land'))
    throw new HaloError('ACCESS_DENIED', 'Access denied: a run without gates needs the right to land.', {
      hint: 'Set gates, or ask an operator to submit it.',
    });
  const { caller } = sender;
  const { profile, ...rest } = options;
  // The keys of one user say nothing about the runs of another.
  const key = caller === undefined || rest.key === undefined ? rest.key : `${caller.name} ${rest.key}`;
  return {
    ...rest,
    ...defined({ key }),
    ...{ profile, user: caller?.name ?? rest.user ?? REMOTE_USER, remote: true, rights },
  };
}

/** What a request may cause: what the role of its user includes, and nothing for an agent that may not decide. */
export function rightsOfCaller({ caller, undecided }: Sender): Right[] {
  if (undecided === true) return [];
  return caller === undefined ? [...RIGHTS] : rightsOf(caller.role);
}
