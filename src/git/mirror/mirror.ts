import { chmod, mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asMissing, HaloError } from '../../core/failure/errors.ts';
import { doubledDelay } from '../../lib/async.ts';
import { createFileOnce, createFolders, readIfExists, syncUpTo, pathExists, writeAtomic } from '../../lib/fs.ts';
import { withLock, type LockOptions } from '../../lib/lock.ts';
import { processMark } from '../../lib/process-identity.ts';
import { fetchWithinShare } from './disk-share.ts';
import { bareConfig, initBareRepo } from '../repository/init-repo.ts';
import { syncPacks, syncRef } from '../repository/sync-repository.ts';
import { failureOf, git, gitText, tryGit } from '../process/git.ts';
import { assertObjectId, isObjectId, lastErrorLine } from '../process/git-output.ts';
import { callRemote, findLoginHint } from '../process/remote-access.ts';
import { canonicalSource, isUrl, mirrorName, type RemoteAccess } from '../repository/repo-url.ts';
import { defined } from '../../lib/guards.ts';

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
  access?: RemoteAccess | undefined;
  /** The commit to fetch; default: the tip of `branch`. */
  commit?: string;
  /** A ref of the mirror that may point to the commit already, such as the branch of its run. */
  knownRef?: string;
  /** Short name; default: the branch that HEAD of the source points to. */
  branch?: string;
  signal?: AbortSignal;
}

interface Mirror {
  dir: string;
  /** The requested commit; it is in the mirror with its history, referenced by `refs/halo/base/<head>` or `knownRef`. */
  head: string;
  branch: string | undefined;
}

/**
 * Fetches a commit into the mirror of its repository; creates the mirror if it is missing. The mirror contains only
 * objects and refs: no address, no credentials, no hooks. Safe to call from several processes concurrently.
 * Throws REPO_UNREACHABLE (addresses) and GIT_FAILED.
 */
export async function updateMirror(request: MirrorRequest): Promise<Mirror> {
  const wanted = await wantedCommit(request);
  assertObjectId(wanted.head, 'The wanted commit');
  const dir = mirrorPath(request.home, request.name);
  await requireSource(dir, request.from);
  const ref = `refs/halo/base/${wanted.head}`;
  const refs = request.knownRef === undefined ? [ref] : [ref, request.knownRef];
  const heads = await Promise.all(refs.map((each) => readFile(join(dir, each), 'latin1').catch(() => '')));
  const isPresent = heads.some((head) => head.trim() === wanted.head);
  if (isPresent && (await noteUse(join(dir, dirname(ref))))) return { dir, ...wanted };
  await createMirror(dir, wanted.head.length);
  await fetchRefs(request, dir, [`+${wanted.head}:${ref}`]);
  return { dir, ...wanted };
}

/**
 * A mirror has the objects of one repository, which `source` next to it names: another one would get its commits, and would
 * be sent their ids. Throws GIT_FAILED.
 */
export async function requireSource(dir: string, from: string): Promise<void> {
  if (from === dir) return;
  const [path, source] = [join(dirname(dir), 'source'), canonicalSource(from)];
  let known = await readIfExists(path);
  if (known === undefined) {
    await createFolders(dirname(dir), 0o700);
    await createFileOnce(path, `${source}\n`);
    known = await readIfExists(path);
  }
  if (known === `${source}\n`) return;
  // The digest in the name proves more than a damaged file.
  if (basename(dirname(dir)) === mirrorName(from)) return writeAtomic(path, `${source}\n`, true);
  throw new HaloError('GIT_FAILED', `The mirror ${dir} is that of another repository than ${source}.`, {
    hint: `${path} names its repository. Submit the PRD again.`,
  });
}

/** Removes what keeps a fetched commit in its mirror: it is fetched again when it is needed. */
export async function forgetBase(home: string, { mirror, base }: { mirror: string; base: string }): Promise<void> {
  await rm(join(mirrorPath(home, mirror), `refs/halo/base/${base}`), { force: true });
}

/** Retention removes mirrors that no run uses and whose folders have not changed for a day. False if it just did. */
async function noteUse(refs: string): Promise<boolean> {
  const now = new Date();
  return utimes(refs, now, now).then(
    () => true,
    () => false,
  );
}

/** A server may be slow to answer. */
const ASK_MS = 600_000;

async function wantedCommit({ from, access, commit, branch, signal }: MirrorRequest): Promise<{
  head: string;
  branch: string | undefined;
}> {
  if (commit !== undefined) return { head: commit, branch };
  const options = defined({ signal });
  const ref = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  if (!isUrl(from)) {
    const head = await gitText(['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], {
      gitDir: from,
      ...options,
    });
    return { head, branch };
  }
  const remote = callRemote(from, access);
  const ask = [...remote.args, 'ls-remote', '--symref', '--', from, ref];
  const listed = await tryGit(ask, { ...remote.options, timeoutMs: ASK_MS, ...options });
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

/** Creates the mirror under a temporary name and renames it, so that no process sees an incomplete mirror. */
async function createMirror(dir: string, hexLength: number): Promise<void> {
  if (await pathExists(dir)) return;
  await withMirrorLock(dir, async () => {
    // Another process may be replacing a damaged one.
    if (await pathExists(dir)) return;
    await createFolders(dirname(dir));
    await placeMirror(await createTemporaryMirror(dir, bareConfig(hexLength)), dir);
  });
}

/** Creates an empty mirror under a temporary name. If the process dies, the sweep removes it. */
export async function createTemporaryMirror(dir: string, config: string): Promise<string> {
  const aside = await mkdtemp(temporaryPrefix(dir));
  await initBareRepo(aside, { config, durable: true });
  return aside;
}

/** Prefix of temporary folder names for a mirror, unique to this process. */
export function temporaryPrefix(dir: string): string {
  return `${dir}.new-${processMark()}-`;
}

export async function placeMirror(aside: string, dir: string): Promise<void> {
  await rename(aside, dir);
  await syncUpTo(dir, dirname(dirname(dirname(dir))));
}

/**
 * Runs work while holding the lock of a mirror, required to create, replace, repack or remove it. The lock is not in
 * the folder of the mirror, because retention removes that folder. Throws LockBusyError.
 */
export function withMirrorLock<T>(dir: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const home = dirname(dirname(dirname(dir)));
  return withLock(join(home, 'locks', `mirror-${basename(dirname(dir))}`), work, { makeFolder: true, ...options });
}

const ATTEMPTS = 8;

/** The source of a fetch. */
export type FetchSource = Pick<MirrorRequest, 'from' | 'access' | 'signal'>;

/**
 * Fetches refs into a mirror. Retries when a concurrent fetch holds a lock file of the mirror. Throws DISK_FAILED for a
 * repository that is larger than its share of the disk, REPO_UNREACHABLE, GIT_FAILED.
 */
export async function fetchRefs(source: FetchSource, dir: string, refspecs: readonly string[]): Promise<void> {
  const { from, access, signal } = source;
  const remote = isUrl(from) ? callRemote(from, access) : undefined;
  const trusted = remote ? undefined : await trustOwner(from);
  const args = [
    ...(remote?.args ?? []),
    ...['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'],
    // What runs have added to the mirror is not the business of a server.
    ...(remote ? ['--negotiation-tip=refs/halo/base/*'] : []),
    ...['--update-shallow', '--refmap=', '--', from, ...refspecs],
  ];
  const options = {
    gitDir: dir,
    durable: true,
    timeoutMs: 3_600_000,
    ...(remote?.options ?? { protocols: 'file' }),
    ...(trusted === undefined ? {} : { env: { GIT_CONFIG_GLOBAL: trusted } }),
    ...defined({ signal }),
  };
  const refs = refspecs.map((refspec) => refspec.slice(refspec.indexOf(':') + 1));
  try {
    for (let attempt = 1; ; attempt += 1) {
      const fetched = await fetchWithinShare(args, options);
      if (fetched.exitCode === 0 || (await Promise.all(refs.map((ref) => pathExists(join(dir, ref))))).every(Boolean))
        break;
      if (fetched.tooLarge !== undefined) throw tooLarge(from, fetched.tooLarge);
      const contended = /\.lock|cannot lock ref|shallow file has changed/.test(fetched.stderr);
      if (fetched.ended !== 'exited' || !contended || attempt === ATTEMPTS) {
        if (remote && fetched.ended === 'exited') throw unreachable(from, fetched.stderr);
        const lacking = remote || fetched.ended !== 'exited' ? undefined : await findMissingObject(from, refspecs);
        if (lacking !== undefined) throw objectsMissing(from, lacking, await isPartialClone(from));
        throw failureOf(args, fetched, options);
      }
      await sleep(doubledDelay(attempt, 20) * (0.5 + Math.random()));
    }
  } finally {
    if (trusted !== undefined) await rm(dirname(trusted), { recursive: true, force: true });
  }
  await syncPacks(dir);
  for (const ref of refs) await syncRef(dir, ref);
}

/**
 * Git refuses to serve a repository of another user, and its server side reads config files only. halo reads only objects
 * there, so it marks exactly this repository as safe for this fetch. Returns the path of a config file, if needed.
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

/** Whether git leaves out contents of a repository until it needs them. */
async function isPartialClone(gitDir: string): Promise<boolean> {
  const keys = '^(remote\\..*\\.promisor|extensions\\.partialclone)$';
  const { exitCode } = await tryGit(['config', '--name-only', '--get-regexp', keys], { gitDir });
  return exitCode === 0;
}

/** An object of the commits to fetch that the repository does not have; undefined if there is none. */
async function findMissingObject(gitDir: string, refspecs: readonly string[]): Promise<string | undefined> {
  const commits = refspecs.map((refspec) => refspec.replace(/^\+/, '').split(':')[0] ?? '');
  const args = ['rev-list', '--objects', '--quiet', '--end-of-options', ...commits];
  const { exitCode, stderr } = await tryGit(args, { gitDir, timeoutMs: 600_000 });
  const named = exitCode === 0 ? undefined : /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/.exec(stderr)?.[0];
  // Such a commit may never have been there.
  return named === undefined || commits.includes(named) ? undefined : named;
}

/** halo does not let git download them: that would use the credentials and programs of the user. */
function objectsMissing(from: string, object: string, isPartial: boolean): HaloError {
  const lack = `lacks contents of files or commits in its history, such as the object ${object.slice(0, 12)}`;
  if (isPartial)
    return new HaloError('GIT_FAILED', `The repository ${from} is a partial clone: it ${lack}.`, {
      hint: 'Fetch them: `git fetch --refetch --no-filter`.',
    });
  return new HaloError('GIT_FAILED', `The repository ${from} is damaged: it ${lack}.`, {
    hint: 'Fetch them again with `git fetch --refetch`, or make a new clone; `git fsck` names all that are missing.',
  });
}

function tooLarge(from: string, bytes: number): HaloError {
  return new HaloError(
    'DISK_FAILED',
    `The repository ${from} is larger than ${Math.floor(bytes / 1024 ** 2)} MiB, half of what is free on the disk of HALO_HOME.`,
    { hint: 'Free some space on the disk: see `halo prune --dry-run`.' },
  );
}

function unreachable(from: string, stderr: string): HaloError {
  return new HaloError(
    'REPO_UNREACHABLE',
    `Cannot read the repository ${from}: ${lastErrorLine(stderr) ?? 'git gave no reason'}`,
    {
      hint:
        findLoginHint(stderr) ??
        'Check the address, and that `git ls-remote` works with it for the user who runs halo.',
    },
  );
}

/**
 * Reads the object format (config) and shallow boundary of a mirror, which related repositories must share. Throws
 * GIT_FAILED when the mirror has no valid configuration, and DISK_FAILED.
 */
export async function readMirrorFormat(dir: string): Promise<{ config: string; shallow: string | undefined }> {
  const [config, shallow] = await Promise.all(
    ['config', 'shallow'].map((name) => readFile(join(dir, name), 'utf8').catch(asMissing)),
  );
  if (config?.includes('repositoryformatversion') === true) return { config, shallow };
  throw new HaloError('GIT_FAILED', `The mirror ${dir} is damaged: it has no configuration.`);
}
