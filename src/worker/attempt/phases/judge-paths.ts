import { safeLine } from '../../../core/text/safe-text.ts';
import {
  findNewDotFolders,
  findProtected,
  guardGlobs,
  namesOf,
  PROTECTED_GROUPS,
  readLinks,
} from '../../../git/protect/protected-paths.ts';
import type { FileChange } from '../../../git/import/import-tree.ts';
import { readBytesAt } from '../../../git/repository/inspect-repo.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { judgePrdChange, type PrdChange } from '../../../prd/judge-change.ts';
import type { Attempt, AttemptInputs } from '../open-attempt.ts';
import type { Candidate } from '../work.ts';

/** What of an attempt decides about its paths. */
interface PathRules extends Pick<Attempt, 'signal'> {
  resources: Pick<Attempt['resources'], 'candidateDir'>;
  config: { land: Pick<Attempt['config']['land'], 'protect'> };
  inputs: Pick<AttemptInputs, 'story'> & { state: Pick<AttemptInputs['state'], 'repo'> };
}

type ChangedCommit = Pick<Candidate, 'commit' | 'parent' | 'changed'>;

/** The changes of a story that need a person's approval. */
export interface JudgedPaths {
  /** In the order of the changes. */
  paths: string[];
  /** Display names of the paths without PRDs, with the git setting that refers to them. */
  named: string[];
  /** Descriptions of changed PRDs, such as `prd.json: marks US-002 as done`. */
  prds: string[];
}

const LINK = '120000';
const MAX_SHOWN_CHANGES = 3;

/**
 * Compares what a candidate changes with the protected paths: halo's own list, new folders with a dot at the top, what
 * is guarded for this run, and `[land] protect`, by each name that links of the base give to a path. A PRD whose only
 * change is the story's own mark is not protected, unless `[land] protect` names it.
 * Throws POLICY_VIOLATION and GIT_FAILED.
 */
export async function judgePaths(attempt: PathRules, candidate: ChangedCommit): Promise<JudgedPaths> {
  const { candidateDir } = attempt.resources;
  const { changed, parent } = candidate;
  const { protect } = attempt.config.land;
  const guarded = attempt.inputs.state.repo.guarded ?? [];
  const [links, folders] = await Promise.all([
    readLinks(candidateDir, parent, attempt.signal),
    findNewDotFolders({ gitDir: candidateDir, base: parent, changed }),
  ]);
  const names = new Map(changed.map(({ path }) => [path, namesOf(path, links)]));
  const match = async (of: readonly FileChange[], globs: readonly string[]) => {
    const found = new Set(
      await findProtected(
        of.flatMap(({ path }) => names.get(path) ?? []),
        globs,
      ),
    );
    return of.filter(({ path }) => names.get(path)?.some((name) => found.has(name)));
  };
  const protectedChanges = await match(changed, [
    ...guardGlobs([...folders, ...guarded.map(({ path }) => path)]),
    ...protect,
  ]);
  if (protectedChanges.length === 0) return { paths: [], named: [], prds: [] };
  const ownPrds = guarded.filter(({ setting }) => setting === undefined).map(({ path }) => path);
  const prds = new Set(await match(protectedChanges, ['!**', ...PROTECTED_GROUPS.PRDs, ...guardGlobs(ownPrds)]));
  const asked = new Set(await match(protectedChanges, ['!**', ...protect]));
  const judged = await Promise.all(
    protectedChanges.map(async (change) => ({
      change,
      prd: prds.has(change) ? await judgePrd(attempt, candidate, change) : undefined,
    })),
  );
  const left = judged.filter(({ change, prd }) => prd?.isOwnMark !== true || asked.has(change));
  const settingOf = ({ path }: FileChange) => {
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

/** Undefined if the path is not a PRD file before and after the change. */
async function judgePrd(
  { resources, inputs }: PathRules,
  { parent, commit }: ChangedCommit,
  { path, change, mode }: FileChange,
): Promise<PrdChange | undefined> {
  if (change !== 'update' || mode === LINK) return undefined;
  const [before, after] = await Promise.all(
    [parent, commit].map((each) =>
      readBytesAt({ gitDir: resources.candidateDir, commit: each, path, maxBytes: MAX_PRD_BYTES }).catch(
        () => undefined,
      ),
    ),
  );
  // A file that is too large counts as no PRD.
  return judgePrdChange({ before: before ?? NOTHING, after: after ?? NOTHING, path, story: inputs.story });
}

const NOTHING = new Uint8Array();

function nameOf(path: string, setting: string | undefined): string {
  return setting === undefined ? safeLine(path) : `${safeLine(path)} (${safeLine(setting)})`;
}

function describePrd(path: string, { what }: PrdChange): string {
  const shown = what.slice(0, MAX_SHOWN_CHANGES).map((each) => safeLine(each));
  const more = what.length > MAX_SHOWN_CHANGES ? [`${what.length - MAX_SHOWN_CHANGES} changes more`] : [];
  return `${safeLine(path)}: ${[...shown, ...more].join(', ') || 'marks the story itself'}`;
}
