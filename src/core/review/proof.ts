import { z } from 'zod';
import { REGISTRIES } from '../network.ts';
import { isReportPath } from '../report-path.ts';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const Line = z.string().max(1000);
const Count = z.number().nonnegative();

/** Records come from whoever can push notes: what a command, a variable and a host may look like is as in halo.toml. */
const MOST = 1000;
const Command = z
  .string()
  .min(1)
  .max(200_000)
  .refine((text) => !text.includes('\0'));
const Commands = z.array(Command).max(MOST);
const Variables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/),
    z
      .string()
      .max(200_000)
      .refine((text) => !text.includes('\0')),
  )
  .refine((variables) => Object.keys(variables).length <= MOST);
const HostPort = z.string().regex(/^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9.-]{1,253}):\d{1,5}$/);
/** A content address; empty where the image was gone when its gates had passed. */
const ImageId = z.string().regex(/^(?:sha256:[0-9a-f]{64})?$/);

/** How a gate went. */
const GateProof = z.object({
  command: Command,
  /** 0: a commit whose gate ends otherwise does not land. */
  exitCode: z.number().refine((code) => code === 0),
  ms: Count,
  /** sha256 of what it printed, both streams in the order of arrival. */
  sha256: Hash,
});
export type GateProof = z.infer<typeof GateProof>;

/**
 * What stands behind one landed commit: kept in the run directory, and as a note of the commit. It names everything
 * that it takes to do the proof again, and holds no secret. Readers ignore members that they do not know.
 */
export const Proof = z.object({
  v: z.literal(1),
  commit: ObjectId,
  /** Its only parent. */
  base: ObjectId,
  /**
   * The commit that the agent worked on, where that is not `base`: other stories of the run landed meanwhile, its
   * change was merged onto theirs, and the gates ran on what came of it.
   */
  startedFrom: ObjectId.optional(),
  tree: ObjectId,
  run: Line,
  story: z.object({ id: Line, title: z.string().max(200_000), attempt: z.number().int().positive() }),
  prd: z.object({ hash: Line, specHash: Line }),
  /** `id` is the content address of the image, whatever name it has. */
  image: z.object({ name: Line, id: ImageId }),
  /** Its version is that of the image. `model` is absent for an agent without one. */
  agent: z.object({ name: Line, model: Line.optional() }),
  setup: Commands,
  /** Environment variables of setup and gates. */
  env: Variables,
  /** Where setup might connect to, `host:port`. */
  allow: z.array(HostPort).max(MOST),
  /** Package registries that setup might read; absent in proofs of older versions. */
  registries: z.array(z.enum(REGISTRIES)).max(MOST).optional(),
  /** Files that stay from gate to gate; absent where there were none, and in proofs of older versions. */
  reports: z.array(Line.refine(isReportPath)).max(MOST).optional(),
  gates: z.array(GateProof).max(MOST),
  usage: z.object({
    requests: Count,
    inputTokens: Count,
    cachedTokens: Count,
    cacheWriteTokens: Count.optional(),
    outputTokens: Count,
    costUsd: Count.optional(),
  }),
  halo: Line,
  /** ISO 8601 in UTC: when the attempt began, and when its last gate had passed. */
  startedAt: Line,
  provenAt: Line,
  /** A person let it land, or said yes to the run that it is of. */
  approved: z.literal(true).optional(),
  approvedBy: Line.optional(),
});
export type Proof = z.infer<typeof Proof>;

/** The text of a proof as it is stored. */
export function proofText(proof: Proof): string {
  return `${JSON.stringify(proof, null, 2)}\n`;
}

/** A stored proof, or undefined for a text that is none. */
export function parseProof(text: string): Proof | undefined {
  return readProofText(text).proof;
}

/** A stored proof, or why a text is none, in a few words. */
export function readProofText(text: string): { proof: Proof } | { proof?: undefined; fault: string } {
  const value = tryJson(text);
  if (typeof value !== 'object' || value === null) return { fault: 'no record of halo' };
  const version = 'v' in value ? value.v : undefined;
  if (version !== 1) {
    const known = typeof version === 'number' ? `of version ${version}, which this halo does not know` : undefined;
    return { fault: known ?? 'no record of halo' };
  }
  const parsed = Proof.safeParse(value);
  if (parsed.success) return { proof: parsed.data };
  return { fault: `not valid: ${String(parsed.error.issues[0]?.path[0] ?? 'record')}` };
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
