import { createHash, timingSafeEqual } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { fastify, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify';
import * as z from 'zod';
import { refuseRemoteOptions } from '../config/remote.ts';
import { ERRORS, HaloError, toHaloError, type ErrorCode } from '../core/failure/errors.ts';
import { safeJson } from '../core/safe-text.ts';
import type { StopReason } from '../core/failure/stop-reason.ts';
import { isExcessive } from '../lib/parse-json.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { streamFrames } from './http/http-stream.ts';
import type { NewSettings, Operations, SubmitOptions } from './operations.ts';
import { REMOTE_USER } from './user-name.ts';
import {
  BATCH_BODY,
  fromWirePrd,
  DIFF_QUERY,
  EVENTS_QUERY,
  PAUSE_BODY,
  RAW_QUERY,
  REPLAY_BODY,
  RESET_BODY,
  REJECT_BODY,
  RESUME_BODY,
  RETRY_BODY,
  type RetryBody,
  STORY_BODY,
  SUBMIT_BODY,
  toWireError,
} from './wire.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Should a browser ever show an answer: nothing in it is run, framed, guessed at or kept. */
const FOR_BROWSERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export interface AppOptions {
  operations: Operations;
  /** Every request must carry it as a bearer token. */
  token: string;
  /** Names that the Host header may hold, without port; any name when absent. Guards loopback against DNS rebinding. */
  hosts?: readonly string[];
  /** Goes over every answer. */
  masker?: Masker;
}

/** The HTTP API, not yet listening. Closing it ends open streams; the operations stay open. */
export function buildApp(options: AppOptions): FastifyInstance {
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true });
  const closing = new AbortController();
  app.setReplySerializer((payload) => safeJson(payload));
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(FOR_BROWSERS);
    done(refusal(request, options));
  });
  const { masker } = options;
  if (masker !== undefined) app.addHook('onSend', async (_request, _reply, payload) => maskPayload(masker, payload));
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  // A page may send text or a form to any address without being asked first; it may not send JSON.
  app.removeContentTypeParser('text/plain');
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (isExcessive(body)) done(new HaloError('USAGE', 'The request holds too many values, or too many levels.'));
    else void parseJson(request, body, done);
  });
  app.setErrorHandler(async (error: FastifyError | HaloError, _request, reply) => {
    const known = fromFastify(error);
    await reply.code(statusOf(known.code)).send(toWireError(known));
  });
  app.setNotFoundHandler(async (request, reply) => {
    await reply.code(404).send({ code: 'USAGE', message: `There is no ${request.method} ${request.url} in this API.` });
  });
  addRoutes(app, options.operations, closing.signal);
  return app;
}

function addRoutes(app: FastifyInstance, operations: Operations, closing: AbortSignal): void {
  app.get('/v1/runs', async () => ({ runs: await operations.list() }));

  app.post('/v1/runs', async (request, reply) => {
    const { prd, repos, ...options } = parse(SUBMIT_BODY, request.body);
    refuseRemoteOptions(options.set);
    const runs = await operations.submit({ ...fromWire(options), repos, prd: fromWirePrd(prd) });
    return reply.code(201).send({ runs });
  });

  app.post('/v1/batches', async (request, reply) => {
    const { members, ...options } = parse(BATCH_BODY, request.body);
    refuseRemoteOptions(options.set);
    const entries = members.map(({ prd, ...member }) => ({ ...member, prd: fromWirePrd(prd) }));
    const runs = await operations.submitBatch({ ...fromWire(options), members: entries });
    return reply.code(201).send({ runs });
  });

  app.get<RunRoute>('/v1/runs/:runId', (request) => operations.get(request.params.runId));

  app.get<RunRoute>('/v1/runs/:runId/events', async (request, reply) => {
    const query = parse(EVENTS_QUERY, request.query);
    // Ask first, so that an unknown run is a plain 404 and not a stream.
    const { runId } = (await operations.get(request.params.runId)).state;
    return streamFrames({ reply, closing }, async function* (signal) {
      for await (const event of operations.follow(runId, { ...query, signal })) yield { event };
    });
  });

  app.get<RunRoute>('/v1/runs/:runId/raw', async (request, reply) => {
    const { story, follow } = parse(RAW_QUERY, request.query);
    const { runId } = (await operations.get(request.params.runId)).state;
    return streamFrames({ reply, closing }, async function* (signal) {
      for await (const bytes of operations.raw(runId, { storyId: story, follow, signal }))
        yield { raw: Buffer.from(bytes).toString('base64') };
    });
  });

  app.get<RunRoute>('/v1/runs/:runId/diff', async (request, reply) => {
    const { story } = parse(DIFF_QUERY, request.query);
    return reply.type('text/x-diff; charset=utf-8').send(await operations.diff(request.params.runId, story));
  });

  app.get<RunRoute>('/v1/runs/:runId/artifacts', async (request) => ({
    artifacts: await operations.artifacts(request.params.runId),
  }));

  app.get<{ Params: { runId: string; '*': string } }>('/v1/runs/:runId/artifacts/*', async (request, reply) => {
    const { runId, '*': path } = request.params;
    // Whatever a container wrote: for a program to read, never for a browser to show.
    return reply.type('application/octet-stream').send(await operations.artifact(runId, path));
  });

  app.post<RunRoute>('/v1/runs/:runId/land', (request) => operations.land(request.params.runId));

  app.post<RunRoute>('/v1/runs/:runId/replay', (request) => {
    const { story, attempt } = parse(REPLAY_BODY, request.body);
    const which = attempt === undefined ? {} : { attempt };
    return operations.replay(request.params.runId, { storyId: story, ...which, signal: closing });
  });

  app.get('/v1/breakers', async () => ({ breakers: await operations.breakers() }));

  app.post('/v1/breakers/reset', async (request) => {
    return { key: await operations.resetBreaker(parse(RESET_BODY, request.body).key) };
  });

  addSteering(app, operations.actingAs(TOKEN_HOLDER));
}

/** Who a request with the one token is by, in journals. */
const TOKEN_HOLDER = 'api-token';

function addSteering(app: FastifyInstance, operations: Operations): void {
  app.post<RunRoute>('/v1/runs/:runId/pause', (request) => {
    return operations.pause(request.params.runId, parse(PAUSE_BODY, request.body));
  });

  app.post<RunRoute>('/v1/runs/:runId/resume', (request) => {
    const { replan, ...rest } = parse(RESUME_BODY, request.body);
    const settings = newSettings(rest);
    if (replan === undefined) return operations.resume(request.params.runId, settings);
    const { prd } = replan;
    // What is sent has its place with whoever sends it: the run keeps the path that it has.
    const given = prd === undefined ? {} : { prd: { ...fromWirePrd(prd), remote: true as const } };
    return operations.resume(request.params.runId, { ...settings, replan: given });
  });

  app.post<RunRoute>('/v1/runs/:runId/cancel', (request) => {
    return operations.cancel(request.params.runId, parse(STORY_BODY, request.body).story);
  });

  app.post<RunRoute>('/v1/runs/:runId/retry', (request) => {
    const { story, ...rest } = parse(RETRY_BODY, request.body);
    return operations.retry(request.params.runId, story, newSettings(rest));
  });

  app.post<RunRoute>('/v1/runs/:runId/approve', async (request) => {
    const { runId } = request.params;
    const { story } = parse(STORY_BODY, request.body);
    return story === undefined ? operations.approveRun(runId) : operations.approve(runId, story);
  });

  app.post<RunRoute>('/v1/runs/:runId/reject', async (request) => {
    const { runId } = request.params;
    const { story, reason } = parse(REJECT_BODY, request.body);
    return story === undefined ? operations.rejectRun(runId, reason) : operations.reject(runId, story, reason);
  });
}

/** Settings of a request, by the rules for those that come over the network. */
function newSettings({ set, yes }: Pick<RetryBody, 'set' | 'yes'>): NewSettings {
  return { remote: true, ...(set && { set }), ...(yes !== undefined && { yes }) };
}

/** Options of a submit as the operations want them; who does not say who it is, is `api`. */
function fromWire({ profile, ...rest }: WireOptions): SubmitOptions {
  return { ...rest, profile, user: rest.user ?? REMOTE_USER, remote: true };
}

type WireOptions = Omit<z.infer<typeof SUBMIT_BODY>, 'prd' | 'repos'>;

/** Documents and streams of lines alike. */
function maskPayload(masker: Masker, payload: unknown): unknown {
  if (typeof payload === 'string') return masker.text(payload);
  // A patch: what only looks like a secret is for the person who decides on it.
  if (Buffer.isBuffer(payload)) return masker.known(payload);
  if (!(payload instanceof Readable)) return payload;
  const masked = masker.stream();
  // Whoever reads hears of an error by the end of the connection.
  pipeline(payload, masked, () => undefined);
  return masked;
}

interface RunRoute {
  Params: { runId: string };
}

function refusal(request: FastifyRequest, { token, hosts }: AppOptions): HaloError | undefined {
  if (hosts !== undefined && !hosts.includes(request.hostname.replace(/^\[|\]$/g, '')))
    return new HaloError('API_REFUSED', `This server does not answer to the name ${request.hostname}.`, {
      hint: `Use one of ${hosts.join(', ')} in HALO_URL.`,
    });
  if (request.headers.origin !== undefined)
    return new HaloError('API_REFUSED', 'This server does not answer to web pages.', {
      hint: 'Use the halo command, or a program that sends no Origin header.',
    });
  const [scheme, given = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() === 'bearer' && sameSecret(given, token)) return undefined;
  return new HaloError('API_REFUSED', 'The API token is missing or wrong.', {
    hint: 'Set HALO_TOKEN to the one that the server was given, or else keeps in <HALO_HOME>/api-token.',
  });
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function sameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = z.prettifyError({ issues: parsed.error.issues.slice(0, 10) }).replace(/\s+/g, ' ');
  throw new HaloError('USAGE', `The request is not valid: ${issues}.`);
}

function fromFastify(error: FastifyError | HaloError): HaloError {
  if (error instanceof HaloError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) return new HaloError('USAGE', error.message);
  return toHaloError(error);
}

function statusOf(code: ErrorCode): number {
  switch (code) {
    case 'USAGE':
      return 400;
    case 'API_REFUSED':
      return 401;
    case 'RUN_NOT_FOUND':
    case 'STORY_NOT_FOUND':
    case 'ARTIFACT_UNREADABLE':
      return 404;
    case 'LAND_REFUSED':
    case 'STEER_REFUSED':
    case 'CONFLICT':
    case 'DIRTY_WORKTREE':
      return 409;
    default:
      return statusOfReason(ERRORS[code]);
  }
}

function statusOfReason(reason: StopReason | undefined): number {
  if (reason === 'MISSING_DEPENDENCY') return 503;
  return reason === 'INFRASTRUCTURE' || reason === 'UNKNOWN_ERROR' ? 500 : 422;
}
