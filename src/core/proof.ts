import { z } from 'zod';
import { REGISTRIES } from './network.ts';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** How a gate went. */
const GateProof = z.object({
  command: z.string(),
  exitCode: z.number().int(),
  ms: z.number(),
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
  run: z.string(),
  story: z.object({ id: z.string(), title: z.string(), attempt: z.number().int() }),
  prd: z.object({ hash: z.string(), specHash: z.string() }),
  /** `id` is the content address of the image, whatever name it has. */
  image: z.object({ name: z.string(), id: z.string() }),
  /** Its version is that of the image. `model` is absent for an agent without one. */
  agent: z.object({ name: z.string(), model: z.string().optional() }),
  setup: z.array(z.string()),
  /** Environment variables of setup and gates. */
  env: z.record(z.string(), z.string()),
  /** Where setup might connect to, `host:port`. */
  allow: z.array(z.string()),
  /** Package registries that setup might read; absent in proofs of older versions. */
  registries: z.array(z.enum(REGISTRIES)).optional(),
  /** Files that stay from gate to gate; absent where there were none, and in proofs of older versions. */
  reports: z.array(z.string()).optional(),
  gates: z.array(GateProof),
  usage: z.object({
    requests: z.number(),
    inputTokens: z.number(),
    cachedTokens: z.number(),
    cacheWriteTokens: z.number().optional(),
    outputTokens: z.number(),
    costUsd: z.number().optional(),
  }),
  halo: z.string(),
  /** ISO 8601 in UTC: when the attempt began, and when its last gate had passed. */
  startedAt: z.string(),
  provenAt: z.string(),
  /** A person let it land, or said yes to the run that it is of. */
  approved: z.literal(true).optional(),
  approvedBy: z.string().optional(),
});
export type Proof = z.infer<typeof Proof>;

/** The text of a proof as it is stored. */
export function proofText(proof: Proof): string {
  return `${JSON.stringify(proof, null, 2)}\n`;
}

/** A stored proof, or undefined for a text that is none. */
export function parseProof(text: string): Proof | undefined {
  try {
    return Proof.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
