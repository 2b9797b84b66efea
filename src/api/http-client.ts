import { setTimeout as sleep } from 'node:timers/promises';
import type { Artifact } from '../core/artifact.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import { readFrames, request, requestJson, type RequestOptions, type Server } from './http/http-request.ts';
import type {
  BreakerView,
  Decided,
  DecidedRun,
  FollowOptions,
  Landed,
  ListedRun,
  Operations,
  Replayed,
  ResumeOptions,
  RunView,
  Steered,
  Submitted,
} from './operations.ts';
import { userName } from './user-name.ts';
import {
  toWirePrd,
  type BatchBody,
  type EventFrame,
  type RawFrame,
  type ResumeBody,
  type RetryBody,
  type SubmitBody,
} from './wire.ts';

/** How often in a row a broken event stream is taken up again without a new event in between. */
const RESUMES = 5;
const RESUME_WAIT_MS = 500;

/** The operations of a server elsewhere. Throws what the server threw, API_UNREACHABLE and API_REFUSED. */
export function openHttp(server: Server): Operations {
  return {
    async submit({ prd, ...rest }) {
      const body: SubmitBody = { user: userName(), ...rest, prd: toWirePrd(prd) };
      return (await requestJson<{ runs: Submitted[] }>(server, '/v1/runs', { body })).runs;
    },
    async submitBatch({ members, ...rest }) {
      const wired = members.map((member) => ({ ...member, prd: toWirePrd(member.prd) }));
      const body: BatchBody = { user: userName(), ...rest, members: wired };
      return (await requestJson<{ runs: Submitted[] }>(server, '/v1/batches', { body })).runs;
    },
    async list() {
      return (await requestJson<{ runs: ListedRun[] }>(server, '/v1/runs')).runs;
    },
    get: (runId) => requestJson<RunView>(server, runPath(runId)),
    follow: (runId, options) => followEvents(server, runId, options),
    raw: (runId, { storyId, follow, signal }) => {
      const query = { follow: String(follow), ...(storyId === undefined ? {} : { story: storyId }) };
      return readRaw(server, runPath(runId, '/raw'), { query, ...withSignal(signal) });
    },
    async diff(runId, storyId) {
      const query: Record<string, string> = storyId === undefined ? {} : { story: storyId };
      return Buffer.from(await (await request(server, runPath(runId, '/diff'), { query })).arrayBuffer());
    },
    async artifacts(runId) {
      return (await requestJson<{ artifacts: Artifact[] }>(server, runPath(runId, '/artifacts'))).artifacts;
    },
    async artifact(runId, path) {
      const place = path.split('/').map(encodeURIComponent).join('/');
      return Buffer.from(await (await request(server, runPath(runId, `/artifacts/${place}`))).arrayBuffer());
    },
    land: (runId) => requestJson<Landed>(server, runPath(runId, '/land'), { body: {} }),
    pause: (runId, { now }) => requestJson<Steered>(server, runPath(runId, '/pause'), { body: { now } }),
    resume: (runId, { replan, set, yes }) => {
      const body: ResumeBody = { set, yes, ...(replan && { replan: replanBody(replan) }) };
      return requestJson<Steered>(server, runPath(runId, '/resume'), { body });
    },
    cancel: (runId, story) => requestJson<Steered>(server, runPath(runId, '/cancel'), { body: { story } }),
    retry: (runId, story, { set, yes } = {}) => {
      const body: RetryBody = { story, set, yes };
      return requestJson<Steered>(server, runPath(runId, '/retry'), { body });
    },
    approveRun: (runId) => requestJson<DecidedRun>(server, runPath(runId, '/approve'), { body: {} }),
    rejectRun: (runId, reason) => requestJson<DecidedRun>(server, runPath(runId, '/reject'), { body: { reason } }),
    approve: (runId, story) => requestJson<Decided>(server, runPath(runId, '/approve'), { body: { story } }),
    reject: (runId, story, reason) =>
      requestJson<Decided>(server, runPath(runId, '/reject'), { body: { story, reason } }),
    replay: (runId, { storyId, attempt, signal }) =>
      requestJson<Replayed>(server, runPath(runId, '/replay'), {
        body: { story: storyId, attempt },
        ...withSignal(signal),
      }),
    async breakers() {
      return (await requestJson<{ breakers: BreakerView[] }>(server, '/v1/breakers')).breakers;
    },
    async resetBreaker(key) {
      return (await requestJson<{ key: string }>(server, '/v1/breakers/reset', { body: { key } })).key;
    },
    actingAs: () => openHttp(server),
    close: () => Promise.resolve(),
  };
}

function replanBody({ prd }: NonNullable<ResumeOptions['replan']>): ResumeBody['replan'] {
  if (prd === undefined) return {};
  return { prd: toWirePrd(prd) };
}

/** Follows a run and takes up the stream after the last event seen whenever the connection breaks. */
async function* followEvents(server: Server, runId: string, options: FollowOptions): AsyncGenerator<JournalEvent> {
  let after = options.after;
  for (let failures = 0; ; failures += 1) {
    const query = { after: String(after), follow: String(options.follow) };
    try {
      for await (const frame of readFrames<EventFrame>(server, runPath(runId, '/events'), {
        query,
        ...withSignal(options.signal),
      })) {
        if (!('event' in frame)) continue;
        after = frame.event.seq;
        failures = 0;
        yield frame.event;
      }
      return;
    } catch (error) {
      if (options.signal?.aborted === true) return;
      // The first answer decides whether the server is there at all; later breaks are worth another try.
      if (!isBroken(error) || after === options.after || failures >= RESUMES) throw error;
      await sleep(RESUME_WAIT_MS * 2 ** failures, undefined, withSignal(options.signal)).catch(() => undefined);
    }
  }
}

async function* readRaw(server: Server, path: string, options: RequestOptions): AsyncGenerator<Uint8Array> {
  try {
    for await (const frame of readFrames<RawFrame>(server, path, options))
      if ('raw' in frame) yield new Uint8Array(Buffer.from(frame.raw, 'base64'));
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
  }
}

function runPath(runId: string, rest = ''): string {
  return `/v1/runs/${encodeURIComponent(runId)}${rest}`;
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function isBroken(error: unknown): boolean {
  return error instanceof HaloError && error.code === 'API_UNREACHABLE';
}
