import { z } from 'zod';
import { REGISTRIES } from '../journal/egress-events.ts';
import { isReportPath } from '../test-report/test-report.ts';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const Line = z.string().max(1000);
const Count = z.number().nonnegative();

/** Anyone who can push notes can write proofs, so values have the same limits as in halo.toml. */
const MAX_ITEMS = 1000;
const MAX_CASES = 100_000;
const MAX_CASE_LENGTH = 1000;
const Command = z
  .string()
  .min(1)
  .max(200_000)
  .refine((text) => !text.includes('\0'));
const Commands = z.array(Command).max(MAX_ITEMS);
const Variables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/),
    z
      .string()
      .max(200_000)
      .refine((text) => !text.includes('\0')),
  )
  .refine((variables) => Object.keys(variables).length <= MAX_ITEMS);
const HostPort = z.string().regex(/^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9.-]{1,253}):\d{1,5}$/);
/** A content address; empty if the image no longer existed when the gates had passed. */
const ImageId = z.string().regex(/^(?:sha256:[0-9a-f]{64})?$/);

/** The result of a gate. */
const GateProof = z.object({
  command: Command,
  /** Always 0: otherwise the commit does not land. */
  exitCode: z.number().refine((code) => code === 0),
  ms: Count,
  /** SHA-256 of its output, both streams in order of arrival. */
  sha256: Hash,
});
export type GateProof = z.infer<typeof GateProof>;

/**
 * The proof of one landed commit, stored in the run directory and as a note of the commit. It contains everything needed
 * to run the gates again, and no secrets. Readers ignore unknown members.
 */
export const Proof = z.object({
  v: z.literal(1),
  commit: ObjectId,
  /** Its only parent. */
  base: ObjectId,
  /** The commit that the agent worked on, if not `base`: the change was merged onto other stories that landed first. */
  startedFrom: ObjectId.optional(),
  tree: ObjectId,
  run: Line,
  story: z.object({ id: Line, title: z.string().max(200_000), attempt: z.number().int().positive() }),
  prd: z.object({ hash: Line, specHash: Line }),
  /** `id` is the content address of the image. */
  image: z.object({ name: Line, id: ImageId }),
  /** `version` is absent for an agent that halo has not installed, `model` for one without a model. */
  agent: z.object({ name: Line, version: Line.optional(), model: Line.optional() }),
  /** What the attempt started with, if that is not what the run says: `with claude, effort high (route 2)`. */
  start: z.array(Line).max(MAX_ITEMS).optional(),
  setup: Commands,
  /** Environment variables of setup and gates. */
  env: Variables,
  /** Hosts that setup may connect to, `host:port`. */
  allow: z.array(HostPort).max(MAX_ITEMS),
  /** Package registries that setup may use. */
  registries: z.array(z.enum(REGISTRIES)).max(MAX_ITEMS),
  /** The snapshot that replaced setup before the gates; absent if setup ran for them. */
  snapshot: z.object({ key: Hash, digest: Hash }).optional(),
  /** Report files that are kept between gates; absent if there are none. */
  reports: z.array(Line.refine(isReportPath)).max(MAX_ITEMS).optional(),
  /** The tests that were written first and failed on the commit that the agent started from; absent if there are none. */
  tests: z
    .object({
      command: Command,
      files: z
        .array(z.object({ path: z.string().max(4096), blob: ObjectId }))
        .min(1)
        .max(MAX_ITEMS),
      cases: z.array(z.string().max(MAX_CASE_LENGTH)).max(MAX_CASES),
      /** Those that passed before the change, because their criterion was met already. */
      holding: z.array(z.string().max(MAX_CASE_LENGTH)).max(MAX_CASES).optional(),
      /** The result after the change. */
      green: GateProof,
    })
    .optional(),
  gates: z.array(GateProof).max(MAX_ITEMS),
  /** The review of the change by another agent, on the commit `commit` if others landed before it; absent if there was none. */
  review: z
    .object({
      agent: Line,
      version: Line.optional(),
      model: Line.optional(),
      commit: ObjectId.optional(),
      findings: z
        .array(
          z.object({
            path: z.string().max(4096).optional(),
            line: z.number().int().positive().optional(),
            severity: z.enum(['blocking', 'note']),
            criterion: z.number().int().positive().optional(),
            text: z.string().max(2000),
          }),
        )
        .max(MAX_ITEMS),
      criteria: z
        .array(z.object({ n: z.number().int().positive(), met: z.enum(['yes', 'no', 'unclear']) }))
        .max(MAX_ITEMS),
      /** Why there is no valid review. */
      failed: Line.optional(),
    })
    .optional(),
  /** The messages of people that the agent was shown, and how; absent if there were none. */
  messages: z
    .array(
      z.object({
        by: Line,
        how: z.enum(['live', 'prompt']),
        /** Of the text in UTF-8, hex. */
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1)
    .max(MAX_ITEMS)
    .optional(),
  usage: z.object({
    requests: Count,
    inputTokens: Count,
    cachedTokens: Count,
    cacheWriteTokens: Count.optional(),
    outputTokens: Count,
    costUsd: Count.optional(),
  }),
  halo: Line,
  /** ISO 8601 in UTC: when the attempt started, and when its last gate passed. */
  startedAt: Line,
  provenAt: Line,
  /** A user approved the commit or its run. */
  approved: z.literal(true).optional(),
  approvedBy: Line.optional(),
});
export type Proof = z.infer<typeof Proof>;

/** Serialises a proof for storage. */
export function proofText(proof: Proof): string {
  return `${JSON.stringify(proof, null, 2)}\n`;
}

/** Parses a stored proof; undefined if it is not valid. */
export function parseProof(text: string): Proof | undefined {
  return readProofText(text).proof;
}

/** Parses a stored proof, or explains why it is not valid. */
export function readProofText(text: string): { proof: Proof } | { proof?: undefined; fault: string } {
  const value = tryJson(text);
  if (typeof value !== 'object' || value === null) return { fault: 'not a proof of halo' };
  const version = 'v' in value ? value.v : undefined;
  if (version !== 1) {
    const known = typeof version === 'number' ? `of version ${version}, which this halo does not know` : undefined;
    return { fault: known ?? 'not a proof of halo' };
  }
  const parsed = Proof.safeParse(value);
  if (parsed.success) return { proof: parsed.data };
  return { fault: `not valid: ${String(parsed.error.issues[0]?.path[0] ?? 'proof')}` };
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
