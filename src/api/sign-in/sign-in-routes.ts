import { randomBytes } from 'node:crypto';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HaloError } from '../../core/failure/errors.ts';
import { cookieName } from '../http/request-credential.ts';
import type { Caller } from '../access/authenticate.ts';
import { DASHBOARD_FILES, dashboardPath, sendDashboardFile, type DashboardFile } from './dashboard-files.ts';
import type { PendingSignIn } from './oidc-provider.ts';
import type { StartedSession } from './sessions.ts';
import { dashboardPage, ICON, signInPage, STYLE } from './sign-in-pages.ts';

/** What browsers sign in with. */
export interface SignIn {
  /** The host of the provider; undefined: only tokens are accepted. */
  provider: string | undefined;
  /** Throws SIGN_IN_FAILED, CONFIG_INVALID. */
  begin(): Promise<{ url: string; pending: PendingSignIn }>;
  /** Completes a sign-in with the query of the callback. Throws SIGN_IN_FAILED, CONFIG_INVALID. */
  finish(query: string, pending: PendingSignIn, from: string): Promise<StartedSession>;
  /** Throws API_REFUSED for a token that is not valid, and TOO_MANY_REQUESTS. */
  withToken(token: string, request: FastifyRequest): Promise<StartedSession>;
  end(token: string, from: string): Promise<void>;
}

export interface SignInRoutesOptions {
  signIn: SignIn;
  /** Who sent a request; undefined: no user of the server. */
  identify: (request: FastifyRequest) => Promise<Caller | undefined>;
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
const PENDING_MS = 10 * 60_000;
const MAX_PENDING = 1_000;
const MAX_FORM_BYTES = 16 * 1024;

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

/** Scripts, styles, the icon and requests of this server alone; nothing inline. */
const DASHBOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Adds the pages on which people sign in and out. The routes are open; the hooks of the server check host and origin. */
export async function addSignInRoutes(app: FastifyInstance, options: SignInRoutesOptions): Promise<void> {
  const { signIn, identify, isSecure } = options;
  const pending = new PendingSignIns();
  const show = (reply: FastifyReply, status: number, html: string) =>
    reply.code(status).headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(html);
  const showProblem = (reply: FastifyReply, error: unknown, returnTo: string) => {
    if (!(error instanceof HaloError)) throw error;
    const problem = error.code === 'API_REFUSED' ? 'The token is wrong, expired or revoked.' : error.message;
    const status = error.code === 'TOO_MANY_REQUESTS' ? 429 : error.code === 'CONFIG_INVALID' ? 500 : 403;
    return show(reply, status, signInPage({ returnTo, provider: signIn.provider, problem }));
  };
  const startSession = (reply: FastifyReply, { token, lifetimeMs }: StartedSession, returnTo: string) =>
    reply
      .setCookie(cookieName(isSecure), token, {
        path: '/',
        httpOnly: true,
        secure: isSecure,
        sameSite: 'lax',
        maxAge: Math.floor(lifetimeMs / 1000),
      })
      .redirect(returnTo, 303);

  await app.register((pages, _options, done) => {
    pages.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body))),
    );
    pages.get('/', { config: OPEN }, async (request, reply) => {
      const caller = await identify(request);
      if (caller === undefined) return reply.redirect('/sign-in', 303);
      const { name, role } = caller.kind === 'owner' ? { name: 'Owner', role: 'owner of the server' } : caller.user;
      return reply
        .headers({ ...PAGE_HEADERS, 'content-security-policy': DASHBOARD_POLICY })
        .type('text/html; charset=utf-8')
        .send(
          dashboardPage({
            ...{ name, role, isRestricted: caller.kind === 'user' && caller.user.repositories !== undefined },
            ...{ script: await dashboardPath('main.js'), style: await dashboardPath('main.css') },
          }),
        );
    });
    pages.get('/sign-in', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.query);
      return show(reply, 200, signInPage({ returnTo, provider: signIn.provider }));
    });
    for (const name of Object.keys(DASHBOARD_FILES) as DashboardFile[])
      pages.get(`/dashboard/${name}`, { config: BUILT_FILE }, async (request, reply) =>
        sendDashboardFile(name, { request, reply }),
      );
    pages.get('/dashboard/icon.svg', { config: OPEN }, async (_request, reply) =>
      reply.type('image/svg+xml').send(ICON),
    );
    pages.get('/sign-in/style.css', { config: OPEN }, async (_request, reply) => reply.type('text/css').send(STYLE));
    pages.post('/sign-in', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.body);
      const { token } = (request.body ?? {}) as { token?: unknown };
      try {
        if (typeof token !== 'string') throw new HaloError('USAGE', 'The form has no token.');
        return startSession(reply, await signIn.withToken(token.trim(), request), returnTo);
      } catch (error) {
        return showProblem(reply, error, returnTo);
      }
    });
    pages.get('/sign-in/oidc', { config: OPEN }, async (request, reply) => {
      const returnTo = returnPath(request.query);
      try {
        const { url, pending: checks } = await signIn.begin();
        const cookie = { path: '/sign-in', httpOnly: true, secure: isSecure, sameSite: 'lax' } as const;
        return reply.setCookie(PENDING_COOKIE, pending.add({ checks, returnTo }), cookie).redirect(url, 303);
      } catch (error) {
        return showProblem(reply, error, returnTo);
      }
    });
    pages.get('/sign-in/oidc/callback', { config: OPEN }, async (request, reply) => {
      const begun = pending.take(request.cookies[PENDING_COOKIE] ?? '');
      void reply.clearCookie(PENDING_COOKIE, { path: '/sign-in' });
      try {
        if (begun === undefined)
          throw new HaloError('SIGN_IN_FAILED', 'This sign-in has expired, or began in another browser.');
        const query = request.url.slice(request.url.indexOf('?') + 1);
        return startSession(reply, await signIn.finish(query, begun.checks, request.ip), begun.returnTo);
      } catch (error) {
        return showProblem(reply, error, begun?.returnTo ?? '/');
      }
    });
    pages.post('/sign-out', { config: OPEN }, async (request, reply) => {
      const token = request.cookies[cookieName(isSecure)];
      // Without Origin, the request may come from another site, which could sign users out.
      if (token !== undefined && request.headers.origin !== undefined) await signIn.end(token, request.ip);
      return reply.clearCookie(cookieName(isSecure), { path: '/', secure: isSecure }).redirect('/sign-in', 303);
    });
    done();
  });
}

interface Begun {
  checks: PendingSignIn;
  returnTo: string;
}

/** Sign-ins that have begun, in memory: after a restart of the server, they begin again. */
class PendingSignIns {
  readonly #begun = new Map<string, Begun & { until: number }>();

  /** Returns the value of the cookie that binds the sign-in to the browser. */
  add(begun: Begun): string {
    const oldest = this.#begun.keys().next();
    if (this.#begun.size >= MAX_PENDING && oldest.done !== true) this.#begun.delete(oldest.value);
    const id = randomBytes(32).toString('base64url');
    this.#begun.set(id, { ...begun, until: Date.now() + PENDING_MS });
    return id;
  }

  /** Each is used once. */
  take(id: string): Begun | undefined {
    const begun = this.#begun.get(id);
    this.#begun.delete(id);
    return begun !== undefined && begun.until > Date.now() ? begun : undefined;
  }
}

/** The key `return`: a path of this server, so that no link to the sign-in leads to another site. */
function returnPath(given: unknown): string {
  const path = (given as Record<string, unknown> | undefined | null)?.return;
  return typeof path === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000}$/.test(path) ? path : '/';
}
