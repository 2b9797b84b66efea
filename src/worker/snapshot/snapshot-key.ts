import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { findInputs, findTreeDependency } from '../../core/snapshot/install-inputs.ts';
import { snapshotKeyText, type Snapshot, type SnapshotParts } from '../../core/snapshot/snapshot.ts';
import { readObjects, statObjects } from '../../git/objects/read-objects.ts';
import { listFiles, type TreeFile } from '../../git/objects/tree-list.ts';
import { compileGlobs } from '../../lib/glob.ts';

/** A file that decides whether an install is pure is not read beyond this size. */
const MAX_INSPECTED_BYTES = 4 * 1024 * 1024;

export interface SnapshotKey {
  /** SHA-256, hexadecimal. */
  key: string;
  /** The same for all commits with these settings: under it is noted that snapshots of the whole tree are of no use. */
  settingsKey: string;
  inputs: Snapshot['inputs'];
}

/**
 * The key of the snapshot that setup makes of a commit, and what it depends on. `image`: its content address. Throws
 * GIT_FAILED.
 */
export async function snapshotKey(
  at: { gitDir: string; commit: string; signal: AbortSignal },
  { config, image }: { config: Config; image: string },
): Promise<SnapshotKey> {
  const { setup, env, network, snapshot } = config;
  const files = await listFiles(at, () => true);
  const chosen = snapshot.inputs === undefined ? await findNarrowInputs(at, config, files) : undefined;
  const wanted = snapshot.inputs === undefined ? undefined : compileGlobs(snapshot.inputs);
  const names = wanted === undefined ? chosen : files.map(({ path }) => path).filter((path) => wanted.test(path));
  const inputs = Array.isArray(names) ? names : (names ?? { why: 'the whole tree' });
  const isInput = new Set(Array.isArray(inputs) ? inputs : []);
  const used = Array.isArray(inputs) ? files.filter(({ path }) => isInput.has(path)) : files;
  const settings = {
    image,
    architecture: process.arch,
    setup,
    env,
    network: [network.allow, network.registries, network.upstreams, network.scopes],
  };
  const keyOf = (of: SnapshotParts['inputs']) =>
    createHash('sha256')
      .update(snapshotKeyText({ ...settings, inputs: of }))
      .digest('hex');
  return {
    key: keyOf(used.map(({ path, mode, id }) => [path, mode, id] as const)),
    settingsKey: keyOf('any'),
    inputs,
  };
}

/** The inputs of known installers; `why` if setup may depend on every file. */
async function findNarrowInputs(
  { gitDir, signal }: { gitDir: string; signal: AbortSignal },
  { setup, env }: Config,
  files: readonly TreeFile[],
): Promise<Snapshot['inputs']> {
  const paths = files.filter(({ path }) => !/(?:^|\/)node_modules\//.test(path)).map(({ path }) => path);
  const found = findInputs(setup, paths, Object.keys(env));
  if (found.kind === 'tree') return { why: found.why };
  const byPath = new Map(files.map((file) => [file.path, file]));
  const link = found.files.find((path) => byPath.get(path)?.mode === '120000');
  if (link !== undefined) return { why: `${link} is a link` };
  const ids = found.inspect.map((path) => byPath.get(path)?.id ?? '');
  const facts = await statObjects(gitDir, ids, signal);
  const large = found.inspect.find(
    (_path, index) => (facts.get(ids[index] ?? '')?.size ?? Infinity) > MAX_INSPECTED_BYTES,
  );
  if (large !== undefined) return { why: `${large} is too large to be checked` };
  const texts = await readObjects(gitDir, ids, signal);
  for (const [index, path] of found.inspect.entries()) {
    const why = findTreeDependency(path, texts[index]?.toString('utf8') ?? '', found.runsScripts);
    if (why !== undefined) return { why };
  }
  return found.files;
}
