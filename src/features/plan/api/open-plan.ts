import { basename, dirname, isAbsolute, relative } from 'node:path';
import { quoteDocument } from '../../../agents/prompt/prompt-section.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { findCheckout } from '../../../git/repository/repository-places.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { diffTexts } from '../../../git/commit/read-commits.ts';
import { inspectRepo } from '../../../git/repository/inspect-repo.ts';
import { pathExists } from '../../../lib/fs.ts';
import { defined } from '../../../lib/guards.ts';
import { parseUntrustedJson } from '../../../lib/parse-json.ts';
import { readPlanned } from '../prd/read-planned.ts';
import { assertUpdatable, updatePlan, writePlan, type UpdatedPlan } from '../prd/update-plan.ts';
import { decodeDocument } from '../../../api/repository/decode-document.ts';
import { openTarget } from '../../../api/repository/import-target.ts';
import type { SubmitRequest } from '../../../api/operations/schemas.ts';

/** All documents of a plan together. */
const MAX_DOCUMENTS_BYTES = 1024 * 1024;

interface PlanRequest {
  /** The repository to read: an absolute path. */
  repo: string;
  /** What to plan; empty: what the documents ask for. */
  goal: string;
  documents: { path: string; bytes: Uint8Array }[];
  /** The absolute path of the existing plan to update, if it exists. */
  prd: string;
  /** The absolute path of the file to write, if it is another one; it must not exist. */
  output: string | undefined;
  format: 'json' | 'markdown';
  profile: string | undefined;
  /** `key=value` settings, later wins. */
  set: string[];
}

export interface ProposedPlan extends UpdatedPlan {
  /** The difference from the existing file, in the format of git. Empty: none. */
  patch: Buffer;
}

/** A plan that an agent makes in a read-only run. */
export interface PlanSession {
  request: SubmitRequest;
  /** The file that `save` writes. */
  path: string;
  /** The file that the prompt begins with, if no other one is named. */
  prompt?: string;
  /** Reads `result.json` of the run. Throws PRD_INVALID. */
  read(result: Uint8Array): Promise<ProposedPlan>;
  /** Writes the text, unless the file has changed since. Throws PRD_UNREADABLE, DISK_FAILED. */
  save(text: string): Promise<void>;
}

/**
 * Prepares a run of `halo plan`. Throws PRD_UNREADABLE for a document that is not a text or a file that could not be
 * written, PRD_INVALID for an existing plan that cannot be parsed, and USAGE.
 */
export async function openPlan({ prd, output, ...request }: PlanRequest): Promise<PlanSession> {
  const existing = await openTarget(prd, await projectOf(prd));
  const target = output === undefined ? existing : await openTarget(output, await projectOf(output));
  if (output !== undefined && target.before !== undefined)
    throw new HaloError('USAGE', `${output} exists already.`, {
      hint: 'Update it with --prd, or name a new file with --output.',
    });
  const { before } = existing;
  if (before !== undefined) assertUpdatable(before, prd);
  const path = output ?? prd;
  const prompt = await findPlanPrompt(request);
  return {
    path,
    ...defined({ prompt }),
    request: {
      prd: { path: 'plan', bytes: describeAssignment(request, before === undefined ? undefined : { prd, before }) },
      repos: [request.repo],
      profile: request.profile,
      set: [...(prompt === undefined ? [] : [`prompt.before=${prompt}`]), ...request.set],
      allowDirty: true,
      fromHead: true,
      dryRun: true,
      planning: true,
    },
    async read(result) {
      const planned = readPlanned(parseUntrustedJson(Buffer.from(result).toString('utf8')));
      const plan = before === undefined ? writePlan(planned, request.format, path) : updatePlan(before, planned, prd);
      const patch = await diffTexts(target.before?.toString('utf8') ?? '', plan.text, nameIn(request.repo, path));
      return { ...plan, patch };
    },
    save: (text) => target.save(text),
  };
}

/** The path of a plan in its repository, for the header of its diff. */
function nameIn(repo: string, path: string): string {
  const name = relative(repo, path);
  return name === '' || name.startsWith('..') || isAbsolute(name) ? basename(path) : name;
}

/** Where hank has the prompt for planning. */
const HANK_PROMPT = '.hank/PROMPT_plan.md';

/** The prompt of hank, if it is committed and neither the request nor a profile may name another one. */
async function findPlanPrompt({
  repo,
  profile,
  set,
}: Pick<PlanRequest, 'repo' | 'profile' | 'set'>): Promise<string | undefined> {
  if (profile !== undefined || set.some((each) => each.startsWith('prompt.before='))) return undefined;
  const { gitDir, head: commit } = await inspectRepo(repo);
  const [found] = await listFiles({ gitDir, commit }, ({ path }) => path === HANK_PROMPT);
  return found?.path;
}

/** The checkout around a file, out of which no link may lead; otherwise the nearest folder that exists. */
async function projectOf(path: string): Promise<string> {
  let folder = dirname(path);
  while (!(await pathExists(folder))) folder = dirname(folder);
  return (await findCheckout(folder)) ?? folder;
}

/** The PRD of the run: one story, whose description is the assignment with all documents. */
function describeAssignment(
  { repo, goal, documents }: Pick<PlanRequest, 'repo' | 'goal' | 'documents'>,
  existing: { prd: string; before: Uint8Array } | undefined,
): Uint8Array {
  const texts = documents.map(({ path, bytes }) => ({ path, text: decodeDocument(path, bytes) }));
  if (documents.reduce((sum, { bytes }) => sum + bytes.length, 0) > MAX_DOCUMENTS_BYTES)
    throw new HaloError('PRD_UNREADABLE', 'The documents have more than 1 MiB together.', {
      hint: 'Name fewer or shorter documents.',
    });
  const parts = [
    goal === '' && texts.length === 0
      ? 'Plan what the specifications and documents in the repository ask for and the code does not do yet.'
      : `Plan ${goal === '' ? 'what the documents below ask for' : 'this'} as far as the code does not do it yet.`,
    ...(goal === '' ? [] : [quoteDocument('The goal', goal)]),
    ...texts.map(({ path, text }) => quoteDocument(`Document ${basename(path)}`, text)),
    ...(existing === undefined
      ? []
      : [quoteDocument(`The existing plan ${basename(existing.prd)}`, decodeDocument(existing.prd, existing.before))]),
  ];
  const description = parts.join('\n\n');
  const story = { id: 'PLAN', title: 'Plan the work', description, acceptanceCriteria: ['The plan is complete.'] };
  const document = { project: basename(repo), description: '', userStories: [{ ...story, passes: false }] };
  return new TextEncoder().encode(JSON.stringify(document));
}
