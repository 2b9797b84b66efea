import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OWNER } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { cookieName, cookiesNamed, readCredential, SESSION_COOKIE } from '../http/request-credential.ts';
import type { Caller } from '../access/authenticate.ts';
import type { Credential } from '../access/credential.ts';
import { DASHBOARD_FILES, dashboardPath, sendDashboardFile, type DashboardFile } from './dashboard-files.ts';
import type { PendingSignIn } from './oidc-provider.ts';
import { PendingSignIns } from './pending-sign-ins.ts';
import type { StartedSession } from './sessions.ts';
import { dashboardPage, ICON, KEEP_KEY, KEEP_PLACE, signedInPage, signInPage, STYLE } from './sign-in-pages.ts';

/** What browsers sign in with. */
export interface SignIn {
  /** The host of the provider; undefined: only tokens are accepted. */
  provider: string | undefined;
  /** Throws SIGN_IN_FAILED, CONFIG_INVALID. */
  begin(): Promise<{ url: string; pending: PendingSignIn }>;
  /** Completes a sign-in with the query of the callback. Throws SIGN_IN_FAILED, CONFIG_INVALID, TOO_MANY_REQUESTS. */
  finish(query: string, pending: PendingSignIn, request: FastifyRequest): Promise<StartedSession>;
  /** For who has a token. Throws TOO_MANY_REQUESTS. */
  withToken(caller: Caller, request: FastifyRequest): Promise<StartedSession>;
  /** Ends the session of a page; does nothing for a token. */
  end(credential: Credential, from: string): Promise<void>;
}

interface SignInRoutesOptions {
  signIn: SignIn;
  /** Who has a credential. Throws API_REFUSED, TOO_MANY_REQUESTS. */
  identify: (request: FastifyRequest, credential: Credential) => Promise<Caller>;
  /** Who sent a request of a route that is not open. */
  callerOf: (request: FastifyRequest) => Caller;
  /** Whether browsers reach the server over TLS. */
  isSecure: boolean;
}

/** The config of a route that needs no token. */
export interface OpenRoute extends FastifyContextConfig {
  open: true;
}

const OPEN: OpenRoute = { open: true };
/** Masking would change compressed bytes. */
const BUILT_FILE = { ...OPEN, secret: true };
const PENDING_COOKIE = 'halo-sign-in';
const MAX_FORM_BYTES = 16 * 1024;

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

/** The pages to sign in, which keep the place of a link, and the key of a session. */
const SCRIPT_POLICY = `${PAGE_HEADERS['content-security-policy']}; script-src 'self'`;

/** Scripts, styles, the icon and requests of this server alone; nothing inline. */
const DASHBOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Adds the dashboard, and the pages on which people sign in. The hooks of the server check host and origin. */
export async function addSignInRoutes(app: FastifyInstance, options: SignInRoutesOptions): Promise<void> {
  const { signIn, identify, callerOf, isSecure } = options;
  const pending = new PendingSignIns();
  const show = (reply: FastifyReply, status: number, html: string | Buffer, policy?: string) =>
    reply
      .code(status)
      .headers({ ...PAGE_HEADERS, ...(policy !== undefined && { 'content-security-policy': policy }) })
      .type('text/html; charset=utf-8')
      .send(html);
  const showProblem = (reply: FastifyReply, error: unknown, returnTo: string) => {
    if (!(error instanceof HaloError)) throw error;
    const problem = error.code === 'API_REFUSED' ? 'The token is wrong, expired or revoked.' : error.message;
    const status = error.code === 'TOO_MANY_REQUESTS' ? 429 : error.code === 'CONFIG_INVALID' ? 500 : 403;
    return show(reply, status, signInPage({ returnTo, provider: signIn.provider, problem }), SCRIPT_POLICY);
  };
  const startSession = (
    request: FastifyRequest,
    reply: FastifyReply,
    { session: { cookie, pageKey, lifetimeMs }, returnTo }: { session: StartedSession; returnTo: string },
  ) =>
    show(
      reply.setCookie(cookieName(request, SESSION_COOKIE, isSecure), cookie, {
        path: '/',
        httpOnly: true,
        secure: isSecure,
        sameSite: 'lax',
        maxAge: Math.floor(lifetimeMs / 1000),
      }),
      200,
      // In texts, the key would be masked.
      Buffer.from(signedInPage({ returnTo, pageKey })),
      SCRIPT_POLICY,
    );

  await app.register((pages, _options, done) => {
    pages.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body))),
    );
    // The page is the same for everyone. What it shows, it requests with the key of its session.
    pages.get('/', { config: OPEN }, async (request, reply) => {
      if (cookiesNamed(request, cookieName(request, SESSION_COOKIE, isSecure)).length === 0)
        return reply.redirect('/sign-in', 303);
      const paths = { script: await dashboardPath('main.js'), style: await dashboardPath('main.css') };
      return show(reply, 200, dashboardPage(paths), DASHBOARD_POLICY);
    });
    pages.get('/dashboard/person', async (request, reply) => reply.send(personOf(callerOf(request))));
    pages.get('/sign-in', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.query);
      return show(reply, 200, signInPage({ returnTo, provider: signIn.provider }), SCRIPT_POLICY);
    });
    for (const name of Object.keys(DASHBOARD_FILES) as DashboardFile[])
      pages.get(`/dashboard/${name}`, { config: BUILT_FILE }, async (request, reply) =>
        sendDashboardFile(name, { request, reply }),
      );
    pages.get('/dashboard/icon.svg', { config: OPEN }, async (_request, reply) =>
      reply.type('image/svg+xml').send(ICON),
    );
    pages.get('/sign-in/style.css', { config: OPEN }, async (_request, reply) => reply.type('text/css').send(STYLE));
    for (const [name, script] of Object.entries({ 'keep-key': KEEP_KEY, 'keep-place': KEEP_PLACE }))
      pages.get(`/sign-in/${name}.js`, { config: OPEN }, async (_request, reply) =>
        reply.type('text/javascript').send(script),
      );
    pages.post('/sign-in', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.body);
      const { token } = (request.body ?? {}) as { token?: unknown };
      try {
        if (typeof token !== 'string') throw new HaloError('USAGE', 'The form has no token.');
        const caller = await identify(request, { from: 'header', token: token.trim() });
        return startSession(request, reply, { session: await signIn.withToken(caller, request), returnTo });
      } catch (error) {
        return showProblem(reply, error, returnTo);
      }
    });
    pages.get('/sign-in/oidc', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.query);
      try {
        const { url, pending: checks } = await signIn.begin();
        const cookie = { path: '/sign-in', httpOnly: true, secure: isSecure, sameSite: 'lax' } as const;
        const name = cookieName(request, PENDING_COOKIE);
        return reply.setCookie(name, pending.seal({ checks, returnTo }), cookie).redirect(url, 303);
      } catch (error) {
        return showProblem(reply, error, returnTo);
      }
    });
    pages.get('/sign-in/oidc/callback', { config: OPEN }, async (request, reply) => {
      const name = cookieName(request, PENDING_COOKIE);
      const query = request.url.slice(request.url.indexOf('?') + 1);
      const begun = pending.find(cookiesNamed(request, name), new URLSearchParams(query).get('state') ?? '');
      void reply.clearCookie(name, { path: '/sign-in' });
      try {
        if (begun === undefined)
          throw new HaloError('SIGN_IN_FAILED', 'This sign-in has expired, or began in another browser.');
        const session = await signIn.finish(query, begun.checks, request);
        pending.complete(begun);
        return startSession(request, reply, { session, returnTo: begun.returnTo });
      } catch (error) {
        return showProblem(reply, error, begun?.returnTo ?? '/');
      }
    });
    pages.post('/sign-out', async (request, reply) => {
      const credential = readCredential(request, isSecure);
      if (credential !== undefined) await signIn.end(credential, request.ip);
      const name = cookieName(request, SESSION_COOKIE, isSecure);
      return reply.clearCookie(name, { path: '/', secure: isSecure }).code(204).send();
    });
    done();
  });
}

/** Who uses the dashboard. */
interface Person {
  name: string;
  role: string;
  /** Whether the person may use only some repositories. */
  isRestricted: boolean;
}

function personOf(caller: Caller): Person {
  if (caller.kind === 'owner') return { name: 'Owner', role: OWNER, isRestricted: false };
  const { name, role, repositories } = caller.user;
  return { name, role, isRestricted: repositories !== undefined };
}

/** The key `return`: a path of this server, so that no link to the sign-in leads to another site. */
function returnPath(given: unknown): string {
  const path = (given as Record<string, unknown> | undefined | null)?.return;
  return typeof path === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000}$/.test(path) ? path : '/';
}
