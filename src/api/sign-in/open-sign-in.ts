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
    async finish(query, pending, from) {
      if (provider === undefined || oidc === undefined)
        throw signInFailed('This server has no sign-in through a provider.');
      try {
        const name = await admitUser(await provider.finish(query, pending), oidc, users, new Date());
        return await sessions.startFor(name, { via: 'oidc' }, from);
      } catch (error) {
        if (error instanceof HaloError && error.code === 'SIGN_IN_FAILED')
          await sessions.recordRefused(error.message, from);
        throw error;
      }
    },
    async withToken(token, request) {
      const caller = await authenticator.identify(token, request.ip);
      if (caller !== undefined) return sessions.startWithToken(caller, request.ip);
      await limits.countRefused(request);
      await authenticator.recordRefused(token, request.ip);
      throw new HaloError('API_REFUSED', 'The token is wrong, expired or revoked.');
    },
    end: (token, from) => sessions.end(token, from),
  };
}
