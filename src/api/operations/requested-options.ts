import type { SubmitOptions } from './requests.ts';
import { REMOTE_USER } from '../submit/user-name.ts';
import type { OperationContext } from './operation-context.ts';

/**
 * The options of a submit; for a request over the network, with the restrictions of such requests. Throws
 * CONFIG_INVALID.
 */
export async function requestedOptions(
  { remote }: Pick<OperationContext, 'remote'>,
  options: SubmitOptions,
): Promise<SubmitOptions> {
  if (!remote) return options;
  const { assertRemoteOptions } = await import('../../config/trust/trust.ts');
  assertRemoteOptions(options.set);
  const { profile, ...rest } = options;
  return { ...rest, profile, user: rest.user ?? REMOTE_USER, remote: true };
}
