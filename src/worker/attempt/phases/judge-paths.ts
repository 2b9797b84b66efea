import { safeLine } from '../../../core/safe-text.ts';
import { guardGlobs } from '../../../git/protect/guard-globs.ts';
import type { Change } from '../../../git/import/import-tree.ts';
import { namesOf, readLinks } from '../../../git/protect/symbolic-links.ts';
import { findNewDotFolders } from '../../../git/protect/new-dot-folders.ts';
import { PROTECTED_GROUPS } from '../../../git/protect/protected-list.ts';
import { findProtected } from '../../../git/protect/protected-paths.ts';
import { readBytesAt } from '../../../git/repository/inspect-repo.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { judgePrdChange, type PrdChange } from '../../../prd/judge-change.ts';
import type { Attempt } from '../../attempt-context.ts';
import type { Candidate } from '../../phases/import.ts';

/** What of a story only a person may let through. */
export interface JudgedPaths {
  /** In the order of the changes. */
  paths: string[];
  /** The same for people, but for PRDs: with the setting of git that names one. */
  named: string[];
  /** What becomes of PRDs, for people: `prd.json: marks US-002 as done`. */
  prds: string[];
}

const LINK = '120000';
const MOST_TOLD = 3;

/**
 * Compares what a candidate changes with the protected paths: halo's own list, new folders with a dot at the top, what
 * is guarded for this run, and `[land] protect`, by each name that links of the base give to a path. A PRD in which the
 * story has only marked itself is none of them, unless `[land] protect` names it.
 * Throws POLICY_VIOLATION and GIT_FAILED.
 */
export async function judgePaths(attempt: Attempt, candidate: Candidate): Promise<JudgedPaths> {
  const { candidateDir, config, state, signal } = attempt;
  const { changed, parent } = candidate;
  const { protect } = config.land;
  const guarded = state.repo.guarded ?? [];
  const [links, folders] = await Promise.all([
    readLinks(candidateDir, parent, signal),
    findNewDotFolders({ gitDir: candidateDir, base: parent, changed }),
  ]);
  const names = new Map(changed.map(({ path }) => [path, namesOf(path, links)]));
  const match = async (of: readonly Change[], globs: readonly string[]) => {
    const found = new Set(
      await findProtected(
        of.flatMap(({ path }) => names.get(path) ?? []),
        globs,
      ),
    );
    return of.filter(({ path }) => names.get(path)?.some((name) => found.has(name)));
  };
  const held = await match(changed, [...guardGlobs([...folders, ...guarded.map(({ path }) => path)]), ...protect]);
  if (held.length === 0) return { paths: [], named: [], prds: [] };
  const ownPrds = guarded.filter(({ setting }) => setting === undefined).map(({ path }) => path);
  const prds = new Set(await match(held, ['!**', ...PROTECTED_GROUPS.PRDs, ...guardGlobs(ownPrds)]));
  const asked = new Set(await match(held, ['!**', ...protect]));
  const judged = await Promise.all(
    held.map(async (change) => ({
      change,
      prd: prds.has(change) ? await judgePrd(attempt, candidate, change) : undefined,
    })),
  );
  const left = judged.filter(({ change, prd }) => prd?.isOwnMark !== true || asked.has(change));
  const settingOf = ({ path }: Change) => {
    const isNamed = (folder: string) =>
      names.get(path)?.some((name) => name === folder || name.startsWith(`${folder}/`));
    return guarded.find((each) => each.setting !== undefined && isNamed(each.path))?.setting;
  };
  return {
    paths: left.map(({ change }) => change.path),
    named: left.filter(({ prd }) => prd === undefined).map(({ change }) => nameOf(change.path, settingOf(change))),
    prds: left.flatMap(({ change, prd }) => (prd === undefined ? [] : [describePrd(change.path, prd)])),
  };
}

/** Undefined where it is no PRD before or after, or not a file both times. */
async function judgePrd(
  { candidateDir, story }: Attempt,
  { parent, commit }: Candidate,
  { path, change, mode }: Change,
): Promise<PrdChange | undefined> {
  if (change !== 'update' || mode === LINK) return undefined;
  const [before, after] = await Promise.all(
    [parent, commit].map((each) =>
      readBytesAt({ gitDir: candidateDir, commit: each, path, maxBytes: MAX_PRD_BYTES }).catch(() => undefined),
    ),
  );
  // What is too large to be one is no PRD.
  return judgePrdChange({ before: before ?? NOTHING, after: after ?? NOTHING, path, story });
}

const NOTHING = new Uint8Array();

function nameOf(path: string, setting: string | undefined): string {
  return setting === undefined ? safeLine(path) : `${safeLine(path)} (${safeLine(setting)})`;
}

function describePrd(path: string, { what }: PrdChange): string {
  const told = what.slice(0, MOST_TOLD).map((each) => safeLine(each));
  const more = what.length > MOST_TOLD ? [`${what.length - MOST_TOLD} changes more`] : [];
  return `${safeLine(path)}: ${[...told, ...more].join(', ') || 'marks the story itself'}`;
}
