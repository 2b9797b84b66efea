import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { GUESS_FILES } from '../../config/output/guess-gates.ts';
import { describeUnmet, type ProgramVersions, type ProjectNeed } from '../../config/output/guess/project-needs.ts';
import type { GuessedSettings } from '../../config/output/guess/guess.ts';
import { readWorkflow, type Workflow } from '../../config/output/guess/workflows.ts';
import { imageAdvice, programsOf } from '../../core/command-needs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { isInside, readRegularText, UnreadableFileError } from '../../lib/fs.ts';
import { GUESSES } from '../joined.ts';

/** Returns the versions of programs in an image. Throws if the image cannot be examined. */
export type VersionsIn = (image: string, programs: readonly string[]) => Promise<ProgramVersions>;

/** Warns of programs that commands need and an image lacks, and of what the files of the repository need beyond that. */
export async function warnOfImage(
  { image, setup, gates }: Pick<Config, 'image' | 'setup' | 'gates'>,
  needs: readonly ProjectNeed[],
  versionsIn: VersionsIn,
): Promise<string[]> {
  const programs = programsOf([...setup, ...(gates ?? [])]);
  const asked = [...new Set([...programs, ...needs.flatMap((need) => need.programs)])];
  if (asked.length === 0) return [];
  const versions = await versionsIn(image, asked).catch((error: unknown) => toHaloError(error));
  if (versions instanceof HaloError)
    return [`Whether the image ${image} has ${asked.join(', ')} could not be looked up: ${asClause(versions.message)}`];
  const missing = programs.filter((program) => versions.get(program) === undefined);
  const [are, has] = missing.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return [
    ...(missing.length === 0 ? [] : [`${missing.join(', ')} ${are} not in the image ${image}: ${imageAdvice(has)}.`]),
    ...describeUnmet(needs, image, versions),
  ];
}

function asClause(message: string): string {
  return message.endsWith('.') ? message : `${message}.`;
}

const MAX_FILE_BYTES = 1024 * 1024;

/** The files at the top of a repository, by name; the text only of those that are used for guessing. */
export async function readRootFiles(root: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const wanted = GUESS_FILES.includes(entry.name);
    const text = wanted ? await readRegularText(join(root, entry.name), MAX_FILE_BYTES).catch(unlessRefused) : '';
    files.set(entry.name, text);
  }
  return files;
}

const WORKFLOWS = '.github/workflows';
const MAX_WORKFLOWS = 20;
const MAX_WORKFLOW_BYTES = 32 * 1024;

/** The workflows of a repository, sorted by name. */
export async function readWorkflows(root: string): Promise<Workflow[]> {
  return [...(await readWorkflowTexts(root))].map(([path, text]) => readWorkflow(path, text));
}

/** The texts of the workflows, by path, sorted by name. Folders that are links are not followed. */
export async function readWorkflowTexts(root: string): Promise<Map<string, string>> {
  const folder = join(root, WORKFLOWS);
  if (!(await isInside(root, folder))) return new Map();
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.isFile() && /^[\w.-]+\.ya?ml$/.test(entry.name))
    .map(({ name }) => name);
  const texts = new Map<string, string>();
  for (const name of names.sort().slice(0, MAX_WORKFLOWS))
    texts.set(
      `${WORKFLOWS}/${name}`,
      await readRegularText(join(folder, name), MAX_WORKFLOW_BYTES).catch(unlessRefused),
    );
  return texts;
}

/** What features guess from the files of a repository, in addition to setup and gates. */
export async function guessMore(root: string): Promise<GuessedSettings> {
  const workflows = await readWorkflowTexts(root);
  const all = await Promise.all(GUESSES.map((guess) => guess(root, workflows)));
  return {
    settings: all.flatMap(({ settings }) => settings),
    env: Object.assign({}, ...all.map(({ env }) => env)) as Record<string, string>,
    envFrom: all.flatMap(({ envFrom }) => envFrom),
    notes: all.flatMap(({ notes }) => notes),
  };
}

/** A very long file, or one that is not a regular file, is ignored. */
function unlessRefused(error: unknown): string {
  if (error instanceof UnreadableFileError) return '';
  throw error;
}
