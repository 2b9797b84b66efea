import * as z from 'zod';
import { ERRORS, HaloError, type ErrorCode } from '../core/failure/errors.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import { isPriority } from '../core/run/priority.ts';
import type { PrdBytes } from './operations.ts';
import { USER_NAME } from './user-name.ts';

/** An error as it goes over HTTP. */
export interface WireError {
  code: ErrorCode;
  message: string;
  hint?: string | undefined;
}

/** One line of a stream: what was asked for, or the error that ends it. Empty lines keep the connection alive. */
export type EventFrame = { event: JournalEvent } | { error: WireError };
export type RawFrame = { raw: string } | { error: WireError };

export const STREAM_TYPE = 'application/x-ndjson';

/** Of one submit. */
const MOST_RUNS = 1000;

/** A path or an address. */
const PLACE = z.string().min(1).max(4096);

const PRD = z.strictObject({ path: PLACE, content: z.base64() });

const PRIORITY = z.number().refine(isPriority, 'must be a priority').optional();

/** What goes for all runs of a submit. `user` is taken at its word: all who have the token are trusted alike. */
const OPTIONS = {
  profile: z.string().optional(),
  set: z.array(z.string().max(65_536)),
  allowDirty: z.boolean(),
  fromHead: z.boolean().optional(),
  priority: PRIORITY,
  after: z.array(z.string()).optional(),
  key: z.string().min(1).optional(),
  user: z.string().regex(USER_NAME).optional(),
};

export const SUBMIT_BODY = z.strictObject({
  prd: PRD,
  repos: z.array(PLACE).min(1).max(MOST_RUNS),
  ...OPTIONS,
});
export type SubmitBody = z.infer<typeof SUBMIT_BODY>;

export const BATCH_BODY = z.strictObject({
  members: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        repo: PLACE,
        prd: PRD,
        deps: z.array(z.string()),
        priority: PRIORITY,
      }),
    )
    .min(1)
    .max(MOST_RUNS),
  ...OPTIONS,
});
export type BatchBody = z.infer<typeof BATCH_BODY>;

export function fromWirePrd({ path, content }: z.infer<typeof PRD>): PrdBytes {
  return { path, bytes: new Uint8Array(Buffer.from(content, 'base64')) };
}

export function toWirePrd({ path, bytes }: PrdBytes): z.infer<typeof PRD> {
  return { path, content: Buffer.from(bytes).toString('base64') };
}

const FLAG = z.enum(['true', 'false']).transform((text) => text === 'true');

export const EVENTS_QUERY = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  follow: FLAG.default(false),
});

export const RAW_QUERY = z.strictObject({ story: z.string().optional(), follow: FLAG.default(false) });

export const DIFF_QUERY = z.strictObject({ story: z.string().optional() });

export const REJECT_BODY = z.strictObject({ story: z.string().optional(), reason: z.string().optional() });

/** A story, or the whole run. */
export const STORY_BODY = z.strictObject({ story: z.string().optional() });

export const PAUSE_BODY = z.strictObject({ now: z.boolean() });

/** Other settings for a run that is there. */
const SETTINGS = { set: z.array(z.string().max(65_536)).max(200).optional(), yes: z.boolean().optional() };

export const RETRY_BODY = z.strictObject({ story: z.string().optional(), ...SETTINGS });
export type RetryBody = z.infer<typeof RETRY_BODY>;

export const RESUME_BODY = z.strictObject({ replan: z.strictObject({ prd: PRD.optional() }).optional(), ...SETTINGS });
export type ResumeBody = z.infer<typeof RESUME_BODY>;

export const RESET_BODY = z.strictObject({ key: z.string().min(1) });
export const REPLAY_BODY = z.strictObject({ story: z.string(), attempt: z.number().int().positive().optional() });

const WIRE_ERROR = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

export function toWireError(error: HaloError): WireError {
  return { code: error.code, message: error.message, hint: error.hint };
}

/** The error that the other side threw, or undefined when `body` is no error of halo's. */
export function fromWireError(body: unknown): HaloError | undefined {
  const parsed = WIRE_ERROR.safeParse(body);
  if (!parsed.success) return undefined;
  const { code, message, hint } = parsed.data;
  return new HaloError(isErrorCode(code) ? code : 'INTERNAL', message, hint === undefined ? {} : { hint });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
