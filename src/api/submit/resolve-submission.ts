import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import type { Config, Settings } from '../../config/config.ts';
import type { ConfigFile } from '../../config/load/config-file.ts';
import { readHomeFiles } from '../../config/load/home-files.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import { PRDS_FOLDERS } from '../../core/prd/prd-names.ts';
import { listSettings, type GitSetting } from '../../git/process/git-settings.ts';
import { replaceLocalPrograms } from '../../git/repository/local-programs.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { inspectRepo, listChanges, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import { assertRunBranchesAllowed } from '../../git/land/land-commit.ts';
import { findUnfinishedOperation } from '../../git/repository/worktrees.ts';
import { findPlaces, requireSamePlaces } from '../../git/repository/repository-places.ts';
import { isUrl, mirrorName, parseRemote, type RemoteAccess } from '../../git/repository/repo-url.ts';
import { findConfigFile, readConfigAt } from '../repository/repo-config.ts';
import { findGuarded } from './guarded-paths.ts';
import type { SubmitOptions } from '../operations/schemas.ts';
import type { PrdFile, Story } from '../../core/prd/prd.ts';
import { findMarkedPrds } from '../../worker/repository/marked-prds.ts';
import { isOfFolder } from '../../prd/folder/folder-text.ts';
import { filesOfPrd } from '../../prd/parse-prd.ts';
import { withIntactMirror } from '../../worker/repository/with-intact-mirror.ts';
import type { SubmitContext } from './submit-context.ts';
import { warnOfContents, warnOfIgnored, warnOfNetwork, warnOfTrust } from './warnings.ts';
import { listSome } from '../../lib/text.ts';
import type { Lookup } from '../../gateway/egress/addresses.ts';
import { formatEndpoint, parseEndpoint, endpointOfUrl, type Endpoint } from '../../gateway/egress/host-port.ts';

/** A run that can be created: its repository and configuration are valid. */
export interface ResolvedSubmission {
  repo: RunRepo;
  config: Config;
  /** Source of the base commit: a git directory, or a URL and how to reach its server. */
  from: string;
  access?: RemoteAccess | undefined;
  /** Warnings about content of the repository that is not part of the run. */
  warnings: string[];
}

/**
 * Inspects a repository and resolves its configuration. The PRD file may have uncommitted changes. `needsGates`: throws
 * NO_GATES if none are configured.
 */
export async function resolveSubmission(
  context: SubmitContext,
  {
    request,
    source,
    prd,
    stories,
    needsGates = true,
  }: { request: SubmitOptions; source: string; prd: PrdFile; stories?: readonly Story[]; needsGates?: boolean },
): Promise<ResolvedSubmission> {
  const { home } = context.host;
  const own = await readHomeFiles(home);
  const remote = request.remote === true;
  const asked: RequestedRepo = remote
    ? await resolveRequestedRepo(source, resolveConfig({ ...own, cwd: '/' }).server)
    : { source };
  // Before an address is contacted, and before an error reveals whether a path exists.
  context.assertMayUse?.(isUrl(asked.source) ? asked.source : await realpath(asked.source).catch(() => asked.source));
  const places = isUrl(asked.source) ? undefined : await findOwnPlaces(context, asked.source);
  const inspected = isUrl(asked.source)
    ? await inspectUrl(home, asked.source, asked.pinned)
    : await inspectFolder(source, request.allowDirty ? undefined : prd, request.queueFolder).catch(
        remote ? hideDetails(source) : undefined,
      );
  context.assertMayUse?.(inspected.repo.source);
  if (places !== undefined) await assertUnchanged(inspected, places);
  const {
    config: resolved,
    ignored,
    unused,
  } = resolveConfig({
    ...own,
    repo: inspected.file,
    profile: request.profile,
    env: context.env,
    set: request.set,
    request: remote ? (request.rights ?? []) : undefined,
    stories,
    cwd: process.cwd(),
  });
  const trusting = request.withoutGates === true && !request.dryRun && (resolved.gates ?? []).length === 0;
  const config = request.dryRun ? toDryConfig(resolved) : trusting ? toTrustingConfig(resolved) : resolved;
  if (needsGates) assertGates(config, inspected.repo.source, inspected.file?.path);
  const away = isUrl(inspected.repo.source);
  const { base: commit, mirror } = inspected.repo;
  const gitDir = away ? mirrorPath(home, mirror) : inspected.from;
  const root = away ? undefined : inspected.repo.source;
  const { settings } = inspected;
  const guarded = await findGuarded({ root, gitDir, commit, prd, config, remote, settings });
  guarded.push(...(inspected.file?.parts ?? []));
  const repo = { ...inspected.repo, ...(guarded.length > 0 && { guarded }), ...(places && { places }) };
  const warnings = [
    ...(trusting ? [warnOfTrust(inspected.repo.source, config)] : []),
    ...warnOfIgnored(ignored),
    ...unused,
    ...warnOfNetwork(config),
    ...(inspected.file?.notes ?? []),
    ...inspected.warnings,
  ];
  return { repo, from: inspected.from, access: inspected.access, config, warnings };
}

/** The repositories to which the files of a folder's repository belong, if only some may be used. Throws ACCESS_DENIED. */
async function findOwnPlaces({ assertMayUse }: SubmitContext, folder: string): Promise<string[] | undefined> {
  if (assertMayUse === undefined) return undefined;
  const { repositories } = (await findPlaces(folder)) ?? { repositories: [] };
  for (const each of repositories) assertMayUse(each);
  return repositories;
}

/** It may have been replaced after the check. Throws NOT_A_GIT_REPO. */
async function assertUnchanged({ repo: { source }, from }: InspectedSource, places: string[]): Promise<void> {
  if ((await requireSamePlaces(source, places)) === from) return;
  throw new HaloError('NOT_A_GIT_REPO', `${source} was changed while halo read it.`, { hint: 'Submit again.' });
}

/** The configuration of a dry run, in which no gate runs and nothing is written or landed. */
function toDryConfig(config: Config): Config {
  const land = { ...config.land, mode: 'branch' as const };
  const approval = { ...config.approval, mode: 'never' as const };
  return {
    ...config,
    engine: { labels: [] },
    setup: [],
    gates: [],
    land,
    approval,
    prd: { ...config.prd, writeBack: false },
  };
}

/** The configuration of a run in which the report of the agent decides. */
function toTrustingConfig(config: Config): Config {
  const { land } = config;
  return { ...config, gates: [], land: { ...land, unchanged: land.unchanged === 'pass' ? 'trust' : land.unchanged } };
}

/** Throws NO_GATES; `file` is the configuration that could name them. */
export function assertGates({ gates }: Config, source: string, file: string | undefined): void {
  if (gates !== undefined) return;
  throw new HaloError('NO_GATES', `No gates are configured for ${source}: nothing would prove that a story is done.`, {
    hint:
      file === undefined
        ? 'Run `halo init`, which writes a halo.toml with the gates it detects, or pass -c \'gates=["npm test"]\'.'
        : `Set them in ${file}, above its first [table]: gates = ["npm test"]; [] means none.`,
  });
}

interface InspectedSource {
  repo: RunRepo;
  from: string;
  access?: RemoteAccess | undefined;
  file: ConfigFile | undefined;
  warnings: string[];
  /** Of git, in the checkout. */
  settings?: GitSetting[] | undefined;
}

/** With `cleanBut`, only this PRD, and files in `folder`, may have uncommitted changes. Throws NOT_A_GIT_REPO, NO_COMMITS, LAND_REFUSED, DIRTY_WORKTREE. */
export async function inspectFolder(
  source: string,
  cleanBut: PrdFile | undefined,
  folder?: string,
): Promise<InspectedSource> {
  const facts = await inspectRepo(source);
  const { root, gitDir, branch, head } = facts;
  const settings = root === gitDir ? undefined : listSettings({ cwd: root });
  const [warnings, missing, file] = await Promise.all([
    settings && cleanBut ? requireCleanCheckout(facts, { prd: cleanBut, folder, settings }) : [],
    warnOfContents({ gitDir, commit: head }),
    findConfigFile(facts),
    assertRunBranchesAllowed(gitDir),
    settings,
  ]);
  const repo = { source: root, mirror: mirrorName(gitDir), branch, base: head };
  return { repo, from: gitDir, file, warnings: [...warnings, ...missing], settings: await settings };
}

const MAX_NAMED = 5;

/**
 * Throws DIRTY_WORKTREE for uncommitted changes, except in inputs of halo, which are not read from the commit, and in the
 * progress of other PRDs, which halo writes. Returns warnings about untracked files.
 */
async function requireCleanCheckout(
  facts: RepoInfo,
  { prd, folder, settings }: { prd: PrdFile; folder: string | undefined; settings: Promise<GitSetting[]> },
): Promise<string[]> {
  const { root, ownGitDir } = facts;
  const pathOf = async (path: string) => relative(root, await realpath(path).catch(() => path));
  const path = await pathOf(prd.path);
  const names = filesOfPrd(prd);
  const inputs = [...(names === undefined ? [path] : []), ...(folder === undefined ? [] : [await pathOf(folder)])];
  const own = ['halo.toml', '.halo/config.toml', ...PRDS_FOLDERS, ...inputs.filter(isBelow)];
  const [found, unfinished] = await Promise.all([
    listChanges(root, own, await settings),
    findUnfinishedOperation(ownGitDir),
  ]);
  const isOther = (each: string) =>
    names === undefined || !(isOfFolder(each, { folder: path, names }) || `${path}/`.startsWith(each));
  const [tracked, untracked] = [found.tracked.filter(isOther), found.untracked.filter(isOther)];
  if (unfinished !== undefined)
    throw new HaloError('DIRTY_WORKTREE', `${root} is in the middle of ${unfinished}.`, {
      hint: 'Finish or abort it, or pass --allow-dirty to start from the checked-out commit.',
    });
  const marked = new Set(await findMarkedPrds(facts, tracked));
  const changes = tracked.filter((path) => !marked.has(path));
  if (changes.length === 0)
    return untracked.length === 0
      ? []
      : [`Untracked files are not part of the run: ${listSome(untracked, MAX_NAMED)}.`];
  const shown = listSome(changes, MAX_NAMED);
  throw new HaloError('DIRTY_WORKTREE', `${root} has uncommitted changes: ${shown}.`, {
    hint: `Commit or stash them, or pass --allow-dirty to run without them.${await hintAtFilters(root)}`,
  });
}

/** A filter may show that a file is unchanged; after `git status` has run it, git knows this without the filter. */
async function hintAtFilters(root: string): Promise<string> {
  const { filters } = await replaceLocalPrograms({ cwd: root });
  if (filters.length === 0) return '';
  return ` halo does not start the filters that .git/config names (${filters.join(', ')}): if they make the difference, run \`git status\` once.`;
}

function isBelow(path: string): boolean {
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
}

async function inspectUrl(home: string, url: string, pinned: string | undefined): Promise<InspectedSource> {
  const { address, login } = parseRemote(url);
  const access = { login, pinned };
  const name = mirrorName(address);
  const mirror = { home, repo: { source: address, mirror: name }, access };
  const { head, branch, file, warnings } = await withIntactMirror(mirror, async () => {
    const { dir, head, branch } = await updateMirror({ home, name, from: address, access });
    const [file, warnings] = await Promise.all([
      readConfigAt(dir, head, address),
      warnOfContents({ gitDir: dir, commit: head }),
    ]);
    return { head, branch, file, warnings };
  });
  return {
    repo: { source: address, mirror: name, branch, base: head },
    from: address,
    access,
    file,
    warnings,
  };
}

/** Replaces errors of a request over the network, which must reveal only whether a folder is a repository. */
function hideDetails(source: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof HaloError) || error.code !== 'NOT_A_GIT_REPO') throw error;
    throw new HaloError('NOT_A_GIT_REPO', `${source} is not a git repository that this server can use.`, {
      hint: 'Use the path of a git checkout or a bare repository on the machine of the server.',
      cause: error,
    });
  };
}

/** A repository that a request over the network may name. */
interface RequestedRepo {
  /** A path, or the URL in a form that all programs read in the same way. */
  source: string;
  /** For an HTTP URL: the addresses of its host, in the format of git's `http.curloptResolve`. */
  pinned?: string;
}

const SSH = /^ssh:\/\/(?:[\w.-]+@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\/\S*$/i;
const SCP_LIKE = /^(?:[\w.-]+@)?([\w.-]+):\S+$/;

/**
 * The repositories that a request over the network may name: an absolute path, or an address over https, http or ssh
 * whose server is on the public internet or in `server.private`. halo contacts no other address, so that the answer
 * does not reveal whether something listens there. Throws USAGE and REPO_UNREACHABLE.
 */
async function resolveRequestedRepo(
  source: string,
  rules: Pick<Settings['server'], 'private'>,
  lookup?: Lookup,
): Promise<RequestedRepo> {
  if (isAbsolute(source)) return { source };
  const target = isUrl(source) ? findTarget(source, parseRemote(source).address) : undefined;
  if (target === undefined) {
    throw new HaloError('USAGE', `${source} is not a repository that a request may use.`, {
      hint: 'Use an absolute path on the machine of the server, or an address like https://git.example.com/team/repo.git or git@git.example.com:team/repo.git.',
    });
  }
  const { createAddressResolver } = await import('../../gateway/egress/addresses.ts');
  const found = await createAddressResolver({ mayBePrivate: new Set(rules.private), ...(lookup && { lookup }) })
    .find(target)
    .catch(() => ({ addresses: [] }));
  const name = formatEndpoint(target);
  if ('reason' in found || found.addresses.length === 0) {
    throw new HaloError('REPO_UNREACHABLE', `The server of the repository, ${name}, has no public address.`, {
      hint: `If it is a server of your network, add it to config.toml of HALO_HOME on the server: [server] private = ["${name}"].`,
    });
  }
  if (!/^https?:/i.test(source)) return { source };
  const { href } = new URL(source);
  const addresses = found.addresses.map((address) => (address.includes(':') ? `[${address}]` : address));
  return { source: href, pinned: `${target.host}:${target.port}:${addresses.join(',')}` };
}

/** The server to which git will connect. Over HTTP, that of the source as it is passed on, not of an address made from it. */
function findTarget(source: string, address: string): Endpoint | undefined {
  if (/^https?:/i.test(source)) return endpointOfUrl(new URL(source));
  const [, host, port = '22'] = SSH.exec(address) ?? [];
  if (host !== undefined) return parseEndpoint(`${host}:${port}`);
  const [, named] = address.includes('://') ? [] : (SCP_LIKE.exec(address) ?? []);
  return named === undefined ? undefined : parseEndpoint(`${named}:22`);
}
