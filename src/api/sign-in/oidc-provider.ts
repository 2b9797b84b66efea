import * as client from 'openid-client';
import type { OidcSettings } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';
import type { Connections } from '../../lib/network/connections.ts';
import { sendRequest } from '../../lib/network/send-request.ts';

/** What the answer of the provider must fit; it stays on the server. */
export interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
}

/** Facts about a person, as the provider signed them. */
export type Claims = Readonly<Record<string, unknown>> & { sub: string };

interface OidcProviderOptions {
  settings: OidcSettings;
  /** The address to which the provider sends users back. */
  callback: string;
  /** Reads the client secret. Throws CONFIG_INVALID. */
  readSecret: () => Promise<string>;
  connections: Connections;
}

/** Endpoints and keys of the provider are read again after this time. */
const DISCOVER_EVERY_MS = 60 * 60_000;
const SCOPE = 'openid email profile';

/** Sign-in by the authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0; RFC 9700). */
export class OidcProvider {
  readonly #options: OidcProviderOptions;
  #discovered: { configuration: client.Configuration; at: number } | undefined;

  constructor(options: OidcProviderOptions) {
    this.#options = options;
  }

  /** The address of the provider's sign-in page. Throws SIGN_IN_FAILED, CONFIG_INVALID. */
  async begin(): Promise<{ url: string; pending: PendingSignIn }> {
    const configuration = await this.#discover();
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.callback,
      scope: SCOPE,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
      state: pending.state,
      nonce: pending.nonce,
    });
    return { url: url.href, pending };
  }

  /** Exchanges the answer of the provider (the query of the callback) for the claims. Throws SIGN_IN_FAILED, CONFIG_INVALID. */
  async finish(query: string, { state, nonce, verifier }: PendingSignIn): Promise<Claims> {
    const configuration = await this.#discover();
    const answer = new URL(this.#options.callback);
    answer.search = query;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the answer has no ID token');
      return await this.#complete(configuration, tokens.access_token, claims);
    } catch (error) {
      throw signInFailed(`The provider did not confirm the sign-in: ${reasonOf(error)}.`, error);
    }
  }

  /** Many providers put only the subject into the ID token. */
  async #complete(configuration: client.Configuration, accessToken: string, claims: Claims): Promise<Claims> {
    const { userClaim, groupsClaim, roles } = this.#options.settings;
    const needed = [userClaim, ...(Object.keys(roles).length > 0 ? [groupsClaim] : [])];
    const isComplete = needed.every((name) => claims[name] !== undefined);
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const more = await client.fetchUserInfo(configuration, accessToken, claims.sub);
    return { ...more, ...claims };
  }

  async #discover(): Promise<client.Configuration> {
    const now = Date.now();
    if (this.#discovered !== undefined && now - this.#discovered.at < DISCOVER_EVERY_MS)
      return this.#discovered.configuration;
    const { settings, readSecret, connections } = this.#options;
    const issuer = new URL(settings.issuer);
    const secret = await readSecret();
    try {
      const configuration = await client.discovery(issuer, settings.clientId, secret, undefined, {
        [client.customFetch]: async (url, { method, headers, body, signal }) => {
          // The provider names the addresses that get the secret of the client.
          if (!isConfidential(new URL(url))) throw new Error(`${url} is not encrypted`);
          const text = body === undefined || body === null ? undefined : String(body as URLSearchParams);
          return sendRequest(connections, url, {
            method,
            headers,
            signal: signal ?? AbortSignal.timeout(REQUEST_MS),
            ...(text !== undefined && { body: text }),
          });
        },
        // The configuration accepts http on loopback only. Its type marks the function as deprecated to make it visible.
        ...(issuer.protocol === 'http:' && { execute: [client.allowInsecureRequests] }),
      });
      this.#discovered = { configuration, at: now };
      return configuration;
    } catch (error) {
      throw signInFailed(`The provider ${issuer.host} cannot be used: ${reasonOf(error)}.`, error);
    }
  }
}

const REQUEST_MS = 30_000;
const MAX_REASON = 300;

function reasonOf(error: unknown): string {
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError)
    return `${error.error}${error.error_description === undefined ? '' : ` (${error.error_description})`}`.slice(
      0,
      MAX_REASON,
    );
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\.$/, '').slice(0, MAX_REASON);
}

export function signInFailed(message: string, cause?: unknown): HaloError {
  return new HaloError('SIGN_IN_FAILED', message, {
    hint: 'Try again; if it fails again, an administrator finds the reason in `halo user log`.',
    ...(cause !== undefined && { cause }),
  });
}
