import type { SubmitOptions } from './requests.ts';
import { defined } from '../../lib/guards.ts';
import { REMOTE_USER } from '../submit/user-name.ts';
import type { OperationContext } from './operation-context.ts';

/**
 * The options of a submit; for a request over the network, with the restrictions of such requests. Throws
 * CONFIG_INVALID.
 */
export async function requestedOptions(
  { remote, caller }: Pick<OperationContext, 'remote' | 'caller'>,
  options: SubmitOptions,
): Promise<SubmitOptions> {
  if (!remote) return options;
  const { assertRemoteOptions } = await import('../../config/trust/trust.ts');
  assertRemoteOptions(options.set);
  const { profile, ...rest } = options;
  // The keys of one user say nothing about the runs of another.
  const key = caller === undefined || rest.key === undefined ? rest.key : `${caller.name} ${rest.key}`;
  return { ...rest, ...defined({ key }), profile, user: caller?.name ?? rest.user ?? REMOTE_USER, remote: true };
}
