import { z } from 'zod';

/** Whose volume it is; absent in old records, which belong to the engine that has the volume. */
const engine = z.object({ name: z.string(), id: z.string() }).optional();

/**
 * What setup produced in a workspace, or commands in a service, kept in a volume of the engine so that further workspaces can start with it. Stored
 * as one file; times are ISO 8601 in UTC.
 */
export const Snapshot = z.object({
  v: z.literal(1),
  engine,
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** The name of the volume. */
  volume: z.string().regex(/^halo-snapshot-[0-9a-f-]{1,100}$/),
  /** SHA-256 of its contents: see docs/snapshots.md. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().nonnegative(),
  files: z.number().nonnegative(),
  /** Duration of the setup that made it, in ms. */
  ms: z.number().nonnegative(),
  /** The commands that made it. */
  setup: z.array(z.string()),
  image: z.string(),
  /** It is the data folder of a service that `setup` prepared, whose files belong to `user`. */
  service: z.object({ name: z.string(), user: z.number() }).optional(),
  /** With `service`: the commit has landed, so all commits of the run may use the data. */
  landed: z.literal(true).optional(),
  /** The files that decide when it may be used; `why`: the reason why it is the whole tree. */
  inputs: z.union([z.object({ why: z.string() }), z.array(z.string())]),
  commit: z.string(),
  run: z.string(),
  createdAt: z.string(),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** Setup commands whose result cannot be a snapshot: they run for each workspace. */
export const RefusedSnapshot = z.object({
  v: z.literal(1),
  engine,
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** A clause. */
  refused: z.string(),
  setup: z.array(z.string()),
  commit: z.string(),
  run: z.string(),
  createdAt: z.string(),
});
export type RefusedSnapshot = z.infer<typeof RefusedSnapshot>;

/** What identifies a snapshot: equal parts give equal results of setup. */
export interface SnapshotParts {
  /** Content address of the image. */
  image: string;
  architecture: string;
  setup: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Hosts, registries and their URLs. */
  network: unknown;
  /** With less memory or fewer processes, a setup that exits 0 may leave optional packages out. */
  limits: unknown;
  /** `snapshot.inputs`: what a user leaves out may change what setup makes of the same inputs. */
  listed?: readonly string[] | undefined;
  /** Path, mode and blob id of each input; a constant if the key does not depend on files. */
  inputs: string | readonly (readonly [path: string, mode: string, id: string])[];
}

/** The text of which the key is the SHA-256; the order of variables and files does not matter. */
export function snapshotKeyText({ inputs, env, ...others }: SnapshotParts): string {
  const { image, architecture, setup, network, limits, listed } = others;
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const files = typeof inputs === 'string' ? inputs : [...inputs].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([2, image, architecture, setup, variables, network, limits, files, listed]);
}
