import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Config } from '../../config/config.ts';
import {
  findRepoConfig,
  MAX_CONFIG_BYTES,
  parseConfigFile,
  readConfigFile,
  type ConfigFile,
} from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/events.ts';
import { PRDS_FOLDER } from '../../core/prd/prd-names.ts';
import { replaceLocalPrograms } from '../../git/repository/local-programs.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { inspectRepo, listChanges, readFileAt, type RepoFacts } from '../../git/repository/inspect-repo.ts';
import { refuseBlockedBranches } from '../../git/run-branch.ts';
import { unfinishedWork } from '../../git/repository/worktrees.ts';
import { isUrl, mirrorName, readRemote, type Access } from '../../git/repository/repo-url.ts';
import { findGuarded } from './guarded-paths.ts';
import type { PrdBytes, SubmitOptions } from '../operations.ts';
import { checkRequestedRepo, type RequestedRepo } from '../requested-repo.ts';
import { findMarkedPrds } from '../../worker/repository/marked-prds.ts';
import { withWholeMirror } from '../../worker/whole-mirror.ts';
import type { SubmitContext } from '../submit-context.ts';
import { warnOfContents, warnOfNetwork } from './base-warnings.ts';

/** A run that could be made: the repository is fit and its settings hold. */
export interface PlannedRun {
  repo: RunRepo;
  config: Config;
  /** Where git can read the base commit now: a git directory, or an address and how its server is reached. */
  from: string;
  access?: Access | undefined;
  /** What is in the repository and not part of the run. */
  warnings: string[];
}

/** Looks at a repository and puts its settings together. The file of the PRD may have uncommitted changes. */
export async function planRun(
  context: SubmitContext,
  { request, source, prd }: { request: SubmitOptions; source: string; prd: PrdBytes },
): Promise<PlannedRun> {
  const { home } = context.host;
  const own = await readConfigFile(join(home, 'config.toml'));
  const remote = request.remote === true;
  const asked: RequestedRepo = remote
    ? await checkRequestedRepo(source, resolveConfig({ home: own, cwd: '/' }).server)
    : { source };
  const place = isUrl(asked.source)
    ? await lookAtUrl(home, asked.source, asked.pinned)
    : await lookAtFolder(source, request.allowDirty ? undefined : prd.path).catch(
        remote ? tellLess(source) : undefined,
      );
  const { config } = resolveConfig({
    home: own,
    repo: place.file,
    profile: request.profile,
    env: context.env,
    set: request.set,
    remote,
    cwd: process.cwd(),
  });
  requireGates(config, place.repo.source, place.file?.path);
  await context.preflight?.(config);
  const away = isUrl(place.repo.source);
  const { base: commit, mirror } = place.repo;
  const gitDir = away ? mirrorPath(home, mirror) : place.from;
  const guarded = await findGuarded({
    root: away ? undefined : place.repo.source,
    gitDir,
    commit,
    prd,
    config,
    remote,
  });
  const repo = guarded.length === 0 ? place.repo : { ...place.repo, guarded };
  const warnings = [...place.warnings, ...warnOfNetwork(config), ...(await warnOfContents({ gitDir, commit }))];
  return { repo, from: place.from, access: place.access, config, warnings };
}

/** Throws NO_GATES; `file` is the configuration that could name them. */
export function requireGates({ gates }: Config, source: string, file: string | undefined): void {
  if (gates !== undefined) return;
  throw new HaloError('NO_GATES', `No gates are configured for ${source}: nothing would prove a story.`, {
    hint:
      file === undefined
        ? '`halo init` writes a halo.toml with gates that fit the repository; or pass -c \'gates=["npm test"]\'.'
        : `Name them in ${file}, above its first [table]: gates = ["npm test"]; [] says that there are none.`,
  });
}

interface Place {
  repo: RunRepo;
  from: string;
  access?: Access | undefined;
  file: ConfigFile | undefined;
  warnings: string[];
}

/** `cleanBut`: uncommitted changes are refused, but for those of this file. Throws NOT_A_GIT_REPO, NO_COMMITS, LAND_REFUSED, DIRTY_WORKTREE. */
export async function lookAtFolder(source: string, cleanBut: string | undefined): Promise<Place> {
  const facts = await inspectRepo(source);
  const { root, gitDir, branch, head } = facts;
  await refuseBlockedBranches(gitDir);
  const looks = cleanBut !== undefined && root !== gitDir;
  const warnings = looks ? await refuseChanges(facts, cleanBut) : [];
  return {
    repo: { source: root, mirror: mirrorName(gitDir), branch, base: head },
    from: gitDir,
    file: await findRepoConfig(root),
    warnings,
  };
}

/**
 * halo's own inputs may be new or changed: they are read as they are now, not from a commit. So may progress in other
 * PRDs, which halo writes itself. Answers with warnings about untracked files.
 */
async function refuseChanges(facts: RepoFacts, prdPath: string): Promise<string[]> {
  const { root } = facts;
  const prd = relative(root, await realpath(prdPath).catch(() => prdPath));
  const { tracked, untracked } = await listChanges(root, [
    'halo.toml',
    '.halo/config.toml',
    PRDS_FOLDER,
    ...(isBelow(prd) ? [prd] : []),
  ]);
  const unfinished = await unfinishedWork(root);
  if (unfinished !== undefined)
    throw new HaloError('DIRTY_WORKTREE', `${root} is in the middle of ${unfinished}.`, {
      hint: 'Finish it or abort it first; --allow-dirty starts from the commit that is checked out now.',
    });
  const marked = new Set(await findMarkedPrds(facts, tracked));
  const changes = tracked.filter((path) => !marked.has(path));
  if (changes.length === 0)
    return untracked.length === 0 ? [] : [`Untracked files are not part of the run: ${listSome(untracked)}.`];
  const shown = listSome(changes);
  throw new HaloError('DIRTY_WORKTREE', `${root} has uncommitted changes: ${shown}.`, {
    hint: `Commit or stash them, because halo works on commits; --allow-dirty goes on without them.${await hintAtFilters(root)}`,
  });
}

/** A filter would perhaps show a file as unchanged; once `git status` has asked it, git knows without it. */
async function hintAtFilters(root: string): Promise<string> {
  const { filters } = await replaceLocalPrograms({ cwd: root });
  if (filters.length === 0) return '';
  return ` halo does not start the filters that .git/config names (${filters.join(', ')}): if they make the difference, run \`git status\` once.`;
}

function listSome(paths: readonly string[]): string {
  return paths.slice(0, 5).join(', ') + (paths.length > 5 ? ` and ${paths.length - 5} more` : '');
}

function isBelow(path: string): boolean {
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
}

async function lookAtUrl(home: string, url: string, pinned: string | undefined): Promise<Place> {
  const { address, login } = readRemote(url);
  const access = { login, pinned };
  const name = mirrorName(address);
  const mirror = { home, repo: { source: address, mirror: name }, access };
  const { head, branch, text } = await withWholeMirror(mirror, async () => {
    const { dir, head, branch } = await updateMirror({ home, name, from: address, access });
    const text = await readFileAt({ gitDir: dir, commit: head, path: 'halo.toml', maxBytes: MAX_CONFIG_BYTES });
    return { head, branch, text };
  });
  return {
    repo: { source: address, mirror: name, branch, base: head },
    from: address,
    access,
    file: text === undefined ? undefined : parseConfigFile(`${address}:halo.toml`, text),
    warnings: [],
  };
}

/** A request learns of a folder only whether it is a repository. */
function tellLess(source: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof HaloError) || error.code !== 'NOT_A_GIT_REPO') throw error;
    throw new HaloError('NOT_A_GIT_REPO', `${source} is not a git repository that this server can use.`, {
      hint: 'Name the path of a git checkout or a bare repository on the machine of the server.',
      cause: error,
    });
  };
}
