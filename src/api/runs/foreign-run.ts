import { join, resolve } from 'node:path';
import * as z from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import { findCheckout } from '../../git/repository/repository-places.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { listUnmergedRuns } from '../../git/repository/unmerged-runs.ts';
import { isInside, readRegularText } from '../../lib/fs.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { readPrdSource } from '../../prd/prd-source.ts';

interface ForeignRun {
  /** The run directory: an absolute path outside of HALO_HOME. */
  folder: string;
  /** The PRD that the user names, absolute; undefined: the one that the directory names. */
  prd: string | undefined;
  /** The repository of the new run: an absolute path or a URL. */
  repo: string;
}

const MAX_RECORD_BYTES = 16 * 1024 * 1024;

const recorded = z.object({
  runId: z.string().nullish(),
  prd: z.object({ path: z.string().nullish(), specHash: z.string().nullish() }),
});

/**
 * The path of the PRD of a run directory that anyone may have written. Of the directory, only the path of the PRD is used,
 * which must lead to a file of the repository, and the hash of its specification. Undefined if it is not a run directory.
 * Throws RUN_NOT_FOUND without such a PRD, PRD_CHANGED, and UNLANDED if the checked-out commit lacks what the run has landed.
 */
export async function findForeignPrd({ folder, prd, repo }: ForeignRun): Promise<string | undefined> {
  const text = await readRegularText(join(folder, 'run.json'), MAX_RECORD_BYTES).catch(() => undefined);
  if (text === undefined) return undefined;
  const { data } = recorded.safeParse(parseUntrustedJson(text));
  const path = prd ?? (await findInside(repo, data?.prd.path ?? ''));
  if (path === undefined)
    throw new HaloError(
      'RUN_NOT_FOUND',
      `${folder} is not a run directory below HALO_HOME, and its run.json names no PRD in ${repo}.`,
      { hint: 'Pass the PRD with --prd to start it as a new run, or set HALO_HOME to the home of the run.' },
    );
  await assertMerged(repo, data?.runId ?? '');
  const specHash = await readSpecHash(path);
  const said = data?.prd.specHash ?? undefined;
  const isComparable = specHash !== undefined && said?.split(':')[0] === specHash.split(':')[0];
  if (!isComparable || said === specHash) return path;
  throw new HaloError('PRD_CHANGED', `The PRD ${path} differs from the PRD of the run in ${folder}.`, {
    hint: 'Restore the file, or run it without --resume.',
  });
}

/** Its journal does not count, so a new run could not start from its branch by itself. */
async function assertMerged(repo: string, runId: string): Promise<void> {
  const facts = isUrl(repo) ? undefined : await inspectRepo(repo).catch(() => undefined);
  if (facts === undefined) return;
  const runs = await listUnmergedRuns(facts.gitDir, facts.head);
  if (!runs.some((run) => run.runId === runId)) return;
  throw new HaloError('UNLANDED', `The passed stories of run ${runId} are only on halo/${runId}.`, {
    hint: `Merge halo/${runId} into your branch first, or delete it to start without them.`,
  });
}

/** A file of the checkout, also if links lead to it. */
async function findInside(repo: string, path: string): Promise<string | undefined> {
  const root = await findCheckout(repo).catch(() => undefined);
  if (root === undefined || path === '' || path.includes('\0')) return undefined;
  const file = resolve(root, path);
  return (await isInside(root, file).catch(() => false)) ? file : undefined;
}

/** Undefined for a PRD that cannot be read, which the new run reports. */
async function readSpecHash(path: string): Promise<string | undefined> {
  try {
    return parsePrd((await readPrdSource(path)).bytes, path).specHash;
  } catch {
    return undefined;
  }
}
