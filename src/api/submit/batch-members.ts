import { HaloError } from '../../core/failure/errors.ts';
import { assertFilledIn } from '../../core/prd/prd-template.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { orderBatch } from '../../core/run/batch.ts';
import { findCredentials, stripCredentials } from '../../core/text/address-credentials.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { assertSelection } from '../../prd/assert-prd.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import type { BatchEntry, BatchRequest, SubmitOptions } from '../operations/schemas.ts';
import type { ResolvedSubmission } from './resolve-submission.ts';

/** One repository of a submit. */
export interface Member extends BatchEntry {
  /** The content of its PRD. */
  parsed: Prd;
  priority: number;
}

/** What a submit asks for: members in the order in which they run, and the options of all. */
export interface CheckedBatch {
  members: Member[];
  options: SubmitOptions;
}

/**
 * Reads all PRDs of a submit. The masker learns the credentials in the addresses of repositories. Throws PRD_INVALID, also
 * for an unchanged template of `halo prd new`, and USAGE for dependencies and stories that do not exist.
 */
export function readBatchMembers({ members: given, ...options }: BatchRequest, masker: Masker): CheckedBatch {
  // Before any message names them: by default, a URL is also the name of its member.
  masker.learn(given.flatMap(({ repo }) => findCredentials(repo)));
  const prds = new Map(given.map(({ prd }) => [prd, parsePrd(prd.bytes, prd.path)]));
  for (const [{ path }, prd] of prds) {
    assertFilledIn(prd, path);
    assertSelection(prd, options.stories, path);
  }
  const members = given.map((member): Member => {
    const parsed = prds.get(member.prd);
    if (parsed === undefined) throw new HaloError('INTERNAL', `The PRD of ${member.name} was not read.`);
    const name = stripCredentials(member.name);
    const deps = member.deps.map(stripCredentials);
    return { ...member, name, deps, parsed, priority: member.priority ?? options.priority ?? 0 };
  });
  return { members: orderBatch(members), options };
}

/** The stories that a run of the PRD has to work on. */
export function openStories({ stories }: Prd, selected: readonly string[] | undefined): Story[] {
  return stories.filter(
    ({ id, status }) => status !== 'done' && status !== 'skipped' && (selected === undefined || selected.includes(id)),
  );
}

/** Whether a run of the PRD has a story to work on. */
export function hasOpenStory(prd: Prd, selected: readonly string[] | undefined): boolean {
  return openStories(prd, selected).length > 0;
}

/** Throws USAGE if two members name the same repository. */
export function assertNamedOnce(runs: readonly Pick<ResolvedSubmission, 'repo'>[]): void {
  const seen = new Set<string>();
  for (const { repo } of runs) {
    if (seen.has(repo.mirror)) {
      throw new HaloError('USAGE', `The repository ${repo.source} is named twice.`, {
        hint: 'Name each repository once, and submit further runs of it separately (with --after if the order matters).',
      });
    }
    seen.add(repo.mirror);
  }
}
