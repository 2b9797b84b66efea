import type { OidcSettings } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import { UserFiles } from '../../store/access/user-files.ts';
import type { Authenticator } from '../access/authenticate.ts';
import { Users } from '../access/users.ts';
import type { RequestLimits } from '../http/request-limits.ts';
import { admitUser } from './admit-user.ts';
import { signInFailed, type OidcProvider } from './oidc-provider.ts';
import { Sessions } from './sessions.ts';
import type { SignIn } from './sign-in-routes.ts';

/** How long a browser stays signed in where no provider is configured, in ms. */
const DEFAULT_SESSION_MS = 12 * 60 * 60_000;

export interface SignInParts {
  /** The token of the server. */
  ownerToken: string;
  home: string;
  authenticator: Authenticator;
  limits: RequestLimits;
  oidc: OidcSettings | undefined;
  provider: OidcProvider | undefined;
}

/** Signs browsers in: with a token, or through the provider. */
export function openSignIn({ ownerToken, home, authenticator, limits, oidc, provider }: SignInParts): SignIn {
  const lifetimeMs = oidc?.sessionMs ?? DEFAULT_SESSION_MS;
  const sessions = new Sessions({ ownerToken, users: new UserFiles(home), log: new AccessLog(home), lifetimeMs });
  const users = new Users(home);
  return {
    provider: provider === undefined || oidc === undefined ? undefined : new URL(oidc.issuer).host,
    async begin() {
      if (provider === undefined) throw signInFailed('This server has no sign-in through a provider.');
      return provider.begin();
    },
    async finish(query, pending, request) {
      if (provider === undefined || oidc === undefined)
        throw signInFailed('This server has no sign-in through a provider.');
      // Each one makes the server send a request to the provider.
      await limits.countSignIn(request);
      try {
        const name = await admitUser(await provider.finish(query, pending), oidc, users, new Date());
        return await sessions.startFor(name, { via: 'oidc' }, request.ip);
      } catch (error) {
        if (error instanceof HaloError && error.code === 'SIGN_IN_FAILED') {
          await limits.countRefused(request);
          await sessions.recordRefused(error.message, request.ip);
        }
        throw error;
      }
    },
    async withToken(caller, request) {
      // The owner is limited by the number of sessions alone.
      if (caller.kind === 'user') await limits.countSignIn(request, caller.user.name);
      return sessions.startWithToken(caller, request.ip);
    },
    async end(credential, from) {
      const session = await authenticator.findSession(credential);
      if (session !== undefined) await sessions.end(session, from);
    },
  };
}
