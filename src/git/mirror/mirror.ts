import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { syncUpTo } from '../../lib/atomic-write.ts';
import { withLock, type LockOptions } from '../../lib/lock.ts';
import { markProcess } from '../../lib/process-identity.ts';
import { bareConfig, makeBareRepo } from '../repository/init-repo.ts';
import { syncPacks, syncRef } from '../repository/sync-repository.ts';
import { git, gitText, lastWords, tryGit, type GitOptions } from '../process/git.ts';
import { assertObjectId, isObjectId } from '../process/object-id.ts';
import { accessArgs, asksForLogin, remoteOptions } from '../process/remote-access.ts';
import { isUrl, type Access } from '../repository/repo-url.ts';

/** `<home>/repos/<name>/mirror.git` */
export function mirrorPath(home: string, name: string): string {
  return join(home, 'repos', name, 'mirror.git');
}

export interface MirrorRequest {
  home: string;
  /** From `mirrorName`. */
  name: string;
  /** Absolute path of a git directory, or an address without a password. */
  from: string;
  /** How the server of an address is reached. */
  access?: Access | undefined;
  /** The commit to have; default the tip of `branch`. */
  commit?: string;
  /** Short name; default the branch that HEAD names at the source. */
  branch?: string;
  signal?: AbortSignal;
}

export interface Mirror {
  dir: string;
  /** The wanted commit; it is in the mirror with its history, held by `refs/halo/base/<head>`. */
  head: string;
  branch: string | undefined;
}

/**
 * Brings a commit into the mirror of its repository, which is made when missing. The mirror holds
 * objects and refs only: no address, no credential, no hook. Safe to run from several processes at once.
 * Throws REPO_UNREACHABLE (addresses) and GIT_FAILED.
 */
export async function updateMirror(request: MirrorRequest): Promise<Mirror> {
  const wanted = await wantedCommit(request);
  assertObjectId(wanted.head, 'The wanted commit');
  const dir = mirrorPath(request.home, request.name);
  const ref = `refs/halo/base/${wanted.head}`;
  if ((await readFile(join(dir, ref), 'latin1').catch(() => '')).trim() === wanted.head) return { dir, ...wanted };
  await createMirror(dir, wanted.head.length);
  await fetchRefs(request, dir, [`+${wanted.head}:${ref}`]);
  return { dir, ...wanted };
}

async function wantedCommit({ from, access, commit, branch, signal }: MirrorRequest): Promise<{
  head: string;
  branch: string | undefined;
}> {
  if (commit !== undefined) return { head: commit, branch };
  const options = signal === undefined ? {} : { signal };
  const ref = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  if (!isUrl(from)) {
    const head = await gitText(['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], {
      gitDir: from,
      ...options,
    });
    return { head, branch };
  }
  const ask = [...accessArgs(from, access), 'ls-remote', '--symref', '--', from, ref];
  const listed = await tryGit(ask, { ...remoteOptions(access), ...options });
  if (listed.exitCode !== 0) throw unreachable(from, listed.stderr);
  const lines = listed.stdout.toString('utf8').split('\n');
  const head = lines.map((line) => line.split('\t')).find(([id, name]) => isObjectId(id ?? '') && name === ref)?.[0];
  if (head === undefined) {
    throw new HaloError('NO_COMMITS', `${from} has no commit at ${ref}.`, {
      hint: 'Push a first commit, or name a branch that exists.',
    });
  }
  return { head, branch: branch ?? /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(listed.stdout.toString('utf8'))?.[1] };
}

/** Made aside and renamed into place: nobody ever sees half a mirror. */
async function createMirror(dir: string, hexLength: number): Promise<void> {
  if (await exists(dir)) return;
  await mkdir(dirname(dir), { recursive: true });
  await withMirrorLock(dir, async () => {
    // It may be on its way to its place, made again from one that was damaged.
    if (!(await exists(dir))) await placeMirror(await makeAside(dir, bareConfig(hexLength)), dir);
  });
}

/** An empty mirror that is to take a place; who dies before leaves it to the sweep. */
export async function makeAside(dir: string, config: string): Promise<string> {
  const aside = await mkdtemp(asideOf(dir));
  await makeBareRepo(aside, { config, durable: true });
  return aside;
}

/** How names of folders begin that are a mirror's of this process alone, on their way to its place or from there. */
export function asideOf(dir: string): string {
  return `${dir}.new-${markProcess()}-`;
}

export async function placeMirror(aside: string, dir: string): Promise<void> {
  await rename(aside, dir);
  await syncUpTo(dir, dirname(dirname(dirname(dir))));
}

/** Whoever puts something into the place of a mirror, or brings its packs together, does so alone. Throws LockBusyError. */
export function withMirrorLock<T>(dir: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  return withLock(join(dirname(dir), 'mirror.lock'), work, options);
}

const ATTEMPTS = 8;

/** Where commits are fetched from. */
export type FetchSource = Pick<MirrorRequest, 'from' | 'access' | 'signal'>;

/** Two fetches may meet at a lock file of the mirror; the later one waits and looks again. */
export async function fetchRefs(source: FetchSource, dir: string, refspecs: readonly string[]): Promise<void> {
  const { from, access, signal } = source;
  const remote = isUrl(from);
  const trusted = remote ? undefined : await trustOwner(from);
  const args = [
    ...accessArgs(from, access),
    ...['-c', 'fetch.unpackLimit=1'],
    ...['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'],
    ...['--update-shallow', '--refmap=', '--', from, ...refspecs],
  ];
  const options: GitOptions = {
    gitDir: dir,
    durable: true,
    timeoutMs: 3_600_000,
    ...(remote ? remoteOptions(access) : { protocols: 'file' }),
    ...(trusted === undefined ? {} : { env: { GIT_CONFIG_GLOBAL: trusted } }),
    ...(signal === undefined ? {} : { signal }),
  };
  const refs = refspecs.map((refspec) => refspec.slice(refspec.indexOf(':') + 1));
  try {
    for (let attempt = 1; ; attempt += 1) {
      const fetched = await tryGit(args, options);
      if (fetched.exitCode === 0 || (await Promise.all(refs.map((ref) => exists(join(dir, ref))))).every(Boolean))
        break;
      const contended = /\.lock|cannot lock ref|shallow file has changed/.test(fetched.stderr);
      if (fetched.ended !== 'exited' || !contended || attempt === ATTEMPTS) {
        if (remote && fetched.ended === 'exited') throw unreachable(from, fetched.stderr);
        await git(args, { ...options, timeoutMs: fetched.ended === 'timeout' ? 1 : 3_600_000 });
        break;
      }
      await sleep(20 * 2 ** attempt * (0.5 + Math.random()));
    }
  } finally {
    if (trusted !== undefined) await rm(dirname(trusted), { recursive: true, force: true });
  }
  await syncPacks(dir);
  for (const ref of refs) await syncRef(dir, ref);
}

/**
 * Git refuses to serve a repository of another user, and its server side listens to config files only.
 * halo reads nothing but objects there, so it names exactly this repository as safe, for this fetch.
 */
async function trustOwner(gitDir: string): Promise<string | undefined> {
  const { uid } = await stat(gitDir);
  if (uid === process.geteuid?.()) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'halo-git-'));
  const file = join(folder, 'config');
  await writeFile(file, '');
  await chmod(file, 0o600);
  for (const path of [gitDir, dirname(gitDir)]) {
    await git(['config', '--file', file, '--add', 'safe.directory', path]);
  }
  return file;
}

function unreachable(from: string, stderr: string): HaloError {
  return new HaloError(
    'REPO_UNREACHABLE',
    `Cannot read the repository ${from}: ${lastWords(stderr) ?? 'git gave no reason'}`,
    {
      hint:
        asksForLogin(stderr) ?? 'Check the address and that `git ls-remote` with it works for the user who runs halo.',
    },
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * What repositories beside a mirror must share with it: object format and history boundary. Throws GIT_FAILED for a
 * mirror that has lost it.
 */
export async function mirrorShape(dir: string): Promise<{ config: string; shallow: string | undefined }> {
  const [config, shallow] = await Promise.all(
    ['config', 'shallow'].map((name) => readFile(join(dir, name), 'utf8').catch(() => undefined)),
  );
  if (config?.includes('repositoryformatversion') === true) return { config, shallow };
  throw new HaloError('GIT_FAILED', `The mirror ${dir} is damaged: it has no configuration.`);
}
