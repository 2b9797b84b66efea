import { mkdtemp, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { HaloError } from '../../../core/failure/errors.ts';
import { pathExists } from '../../../lib/fs.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import { processMark } from '../../../lib/process-identity.ts';
import { mirrorPath, readMirrorFormat } from '../../../git/mirror/mirror.ts';
import { git, gitText } from '../../../git/process/git.ts';
import { bareConfig, initBareRepo } from '../../../git/repository/init-repo.ts';

const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** The branches of runs, the notes, and what halo keeps for itself. */
const REF = /^refs\/(?:heads\/halo|notes|halo)(?:\/[A-Za-z0-9_-][A-Za-z0-9._@+=-]{0,254}){1,4}$/;
const Refs = z.record(z.string().regex(REF), z.string().regex(OBJECT_ID));

const PackedShape = z.object({
  /** Length of the object ids. */
  hexLength: z.literal([40, 64]),
  /** Commits whose parents are absent. */
  shallow: z.array(z.string().regex(OBJECT_ID)),
  /** Refs of the mirror, and of the repository of held commits, with the objects to which they point. */
  mirror: Refs,
  held: Refs,
});

/** The refs of a repository of a HALO_HOME, as in the file `refs.json` of a backup. */
export type PackedRefs = z.infer<typeof PackedShape>;
type RefsById = Record<string, string>;

/** The two repositories next to each other, by the name of their packs. */
const KINDS = ['mirror', 'held'] as const;
type Kind = (typeof KINDS)[number];
/** Refs of one run. */
export type RunRefs = Record<Kind, RefsById>;

/** Where halo keeps the commits of a repository. */
export interface RepositoryPlace {
  home: string;
  /** The name of its mirror. */
  name: string;
}

/** The refs that belong to a run: read them while it is locked. Refs that do not exist are left out. Throws GIT_FAILED. */
export async function readRunRefs(place: RepositoryPlace, runId: string): Promise<RunRefs> {
  const [mirror, held] = [dirOf(place, 'mirror'), dirOf(place, 'held')];
  return {
    mirror: await readRefs(mirror, [`refs/heads/halo/${runId}`]),
    held: await readRefs(held, [`refs/halo/*/${runId}/*`]),
  };
}

/** Whether a ref is of one of these runs. */
function isOf(ref: string, runs: ReadonlySet<string>): boolean {
  return ref.split('/').some((part) => runs.has(part));
}

/**
 * All refs of a repository that exist nowhere else, with those of `cuts` as they were when the runs were locked; undefined
 * if there is none. `isOnlyCopy`: the mirror has the only copy of what landed. Throws GIT_FAILED.
 */
export async function readPackedRefs(
  place: RepositoryPlace,
  { cuts, isOnlyCopy }: { cuts: ReadonlyMap<string, RunRefs>; isOnlyCopy: boolean },
): Promise<PackedRefs | undefined> {
  const mirror = dirOf(place, 'mirror');
  if (!(await pathExists(mirror))) return undefined;
  const runs = new Set(cuts.keys());
  const now = {
    mirror: await readRefs(mirror, MIRROR_REFS),
    held: await readRefs(dirOf(place, 'held'), ['refs/halo']),
  };
  const asCut = (kind: Kind): RefsById => {
    const others = Object.entries(now[kind]).filter(([ref]) => !isOf(ref, runs));
    return Object.fromEntries([...others, ...[...cuts.values()].flatMap((refs) => Object.entries(refs[kind]))]);
  };
  const [refs, held] = [asCut('mirror'), asCut('held')];
  if (!isOnlyCopy && Object.keys(held).length === 0) return undefined;
  if (Object.keys(refs).length === 0) return undefined;
  const { config, shallow = '' } = await readMirrorFormat(mirror);
  return {
    hexLength: config === bareConfig(64) ? 64 : 40,
    shallow: shallow.split('\n').filter((line) => line !== ''),
    mirror: refs,
    held,
  };
}

const MIRROR_REFS = ['refs/heads/halo', 'refs/notes', 'refs/halo/base'];

async function readRefs(gitDir: string, patterns: string[]): Promise<RefsById> {
  if (!(await pathExists(gitDir))) return {};
  const text = await gitText(['for-each-ref', '--format=%(refname) %(objectname)', ...patterns], { gitDir });
  const lines = text.split('\n').map((line) => line.split(' '));
  return Object.fromEntries(lines.filter(([ref = '', id]) => id !== undefined && REF.test(ref)) as [string, string][]);
}

/**
 * Packs the objects of these refs with their history; those of held commits without what the pack of the mirror has. `use` is
 * called with the path of each pack, which is removed afterwards. Throws GIT_FAILED, RUN_ABORTED.
 */
export async function withPacks(
  place: RepositoryPlace,
  refs: PackedRefs,
  { signal, use }: { signal: AbortSignal; use: (kind: Kind, path: string, bytes: number) => Promise<void> },
): Promise<void> {
  // The sweep of workers removes it if this process dies.
  const dir = await mkdtemp(join(dirname(dirOf(place, 'mirror')), `backup.new-${processMark()}-`));
  try {
    for (const kind of KINDS) {
      const ids = [...new Set(Object.values(refs[kind]))];
      if (ids.length === 0) continue;
      const path = join(dir, `${kind}.pack`);
      const known = kind === 'held' ? Object.values(refs.mirror) : [];
      const input = [...ids, '--not', ...known].map((line) => `${line}\n`).join('');
      const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
      await git(args, { gitDir: dirOf(place, kind), input, outputFile: path, timeoutMs: PACK_MS, signal });
      await use(kind, path, (await stat(path)).size);
      await rm(path);
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const PACK_MS = 6 * 3_600_000;

/** Reads `refs.json` of a backup; undefined if it is not one. */
export function parsePackedRefs(text: string): PackedRefs | undefined {
  return PackedShape.safeParse(tryParseJson(text)).data;
}

/**
 * Creates the repositories of a backup from its packs, which lie next to them as `<kind>.pack` and are removed. Every object
 * is checked, and that none is missing. Throws GIT_FAILED, RUN_ABORTED.
 */
export async function unpackRepository(place: RepositoryPlace, refs: PackedRefs, signal: AbortSignal): Promise<void> {
  const config = bareConfig(refs.hexLength);
  const shallow = refs.shallow.length === 0 ? undefined : refs.shallow.map((id) => `${id}\n`).join('');
  for (const kind of KINDS) {
    const entries = Object.entries(refs[kind]);
    if (entries.length === 0) continue;
    const gitDir = dirOf(place, kind);
    const pack = join(dirname(gitDir), `${kind}.pack`);
    if (!(await pathExists(pack)))
      throw new HaloError('BACKUP_UNREADABLE', `The backup is damaged: it has no ${kind}.pack.`);
    await initBareRepo(gitDir, {
      config,
      shallow,
      ...(kind === 'held' && { alternate: '../../mirror.git/objects' }),
      durable: true,
    });
    const options = { gitDir, timeoutMs: PACK_MS, signal, durable: true };
    await git(['index-pack', '--stdin', '--strict'], { ...options, input: { file: pack } });
    await rm(pack);
    const ids = entries.map(([, id]) => `${id}\n`).join('');
    await git(['rev-list', '--objects', '--quiet', '--stdin'], { ...options, input: ids });
    const creations = entries.map(([ref, id]) => `create ${ref} ${id}\n`).join('');
    await git(['update-ref', '--no-deref', '--stdin'], { ...options, input: creations });
  }
}

function dirOf({ home, name }: RepositoryPlace, kind: Kind): string {
  const mirror = mirrorPath(home, name);
  return kind === 'mirror' ? mirror : join(dirname(mirror), 'held.git');
}
