import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { selectInputs } from '../../core/snapshot/install-inputs.ts';
import { snapshotKeyText, type Snapshot, type SnapshotParts } from '../../core/snapshot/snapshot.ts';
import { findTreeDependency, listLockedFolders } from '../../core/snapshot/tree-dependency.ts';
import { readObjects } from '../../git/objects/read-objects.ts';
import { listFiles, type TreeFile } from '../../git/objects/trees.ts';
import { compileGlobs } from '../../lib/glob.ts';

/** A file that decides whether an install is pure is not read beyond this size. */
const MAX_INSPECTED_BYTES = 16 * 1024 * 1024;
/** Of all of them together. */
const MAX_INSPECTED_TOTAL = 64 * 1024 * 1024;

export interface SnapshotKey {
  /** SHA-256, hexadecimal. */
  key: string;
  /** Key of these settings for all commits. Marks repositories for which whole-tree snapshots do not help. */
  settingsKey: string;
  inputs: Snapshot['inputs'];
}

/** The settings around commands that may change what they make of the same files. */
export function surroundingsOf({ network, limits, sandbox }: Config): Pick<SnapshotParts, 'network' | 'limits'> {
  return {
    network: (['allow', 'registries', 'registryHosts', 'upstreams', 'scopes', 'git'] as const).map(
      (key) => network[key],
    ),
    limits: [limits.memoryBytes, limits.pids, limits.files, limits.fileBytes, limits.diskBytes, sandbox.runtime],
  };
}

/**
 * The key of the snapshot that setup makes of a commit, and what it depends on. `image`: its content address. `architecture`: of the engine. Throws
 * GIT_FAILED.
 */
export async function snapshotKey(
  at: { gitDir: string; commit: string; signal: AbortSignal },
  { config, image, architecture }: { config: Config; image: string; architecture: string },
): Promise<SnapshotKey> {
  const { setup, env, snapshot } = config;
  const files = await listFiles(at, () => true);
  const inputs =
    snapshot.inputs === undefined
      ? await findNarrowInputs(at, config, files)
      : matchInputs(snapshot.inputs, files.map(({ path }) => path)); // prettier-ignore
  const isInput = new Set(Array.isArray(inputs) ? inputs : []);
  const used = Array.isArray(inputs) ? files.filter(({ path }) => isInput.has(path)) : files;
  const settings = {
    image,
    architecture,
    setup,
    env,
    ...surroundingsOf(config),
    listed: snapshot.inputs,
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

/** The inputs that the user names. Those that name no file say nothing about what setup reads. */
function matchInputs(globs: readonly string[], paths: readonly string[]): Snapshot['inputs'] {
  const wanted = compileGlobs(globs);
  const found = paths.filter((path) => wanted.test(path));
  return found.length > 0 ? found : { why: 'no file matches snapshot.inputs' };
}

/** The inputs of known installers; `why` if setup may depend on every file. */
async function findNarrowInputs(
  { gitDir, signal }: { gitDir: string; signal: AbortSignal },
  { setup, env }: Config,
  files: readonly TreeFile[],
): Promise<Snapshot['inputs']> {
  const paths = files.map(({ path }) => path);
  const found = selectInputs(setup, paths, env);
  if (found.kind === 'tree') return { why: found.why };
  const byPath = new Map(files.map((file) => [file.path, file]));
  const link = found.files.find((path) => byPath.get(path)?.mode === '120000');
  if (link !== undefined) return { why: `${link} is a link` };
  const { lockfile, runsScripts } = found;
  const idOf = (path: string) => byPath.get(path)?.id ?? '';
  const limits = { signal, maxEach: MAX_INSPECTED_BYTES, maxBytes: MAX_INSPECTED_TOTAL };
  const [lock] = lockfile === undefined ? [] : ((await readObjects(gitDir, [idOf(lockfile)], limits)) ?? []);
  const locked = lockfile === undefined ? undefined : listLockedFolders(lock?.toString('utf8') ?? '');
  const isListed = (path: string) => !isManifest(path) || locked?.has(dirname(`/${path}`).slice(1)) !== false;
  const inspected = found.inspect.filter(isListed);
  const contents = await readObjects(gitDir, inspected.map(idOf), limits);
  if (contents === undefined) return { why: 'its manifests are too large together to be checked' };
  for (const [index, path] of inspected.entries()) {
    const content = contents[index];
    if (content === undefined) return { why: `${path} is too large to be checked` };
    const why = findTreeDependency(path, content.toString('utf8'), runsScripts);
    if (why !== undefined) return { why };
  }
  return found.files;
}

function isManifest(path: string): boolean {
  return basename(path) === 'package.json';
}
