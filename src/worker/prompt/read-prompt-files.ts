import type { PromptFile } from '../../agents/prompt/describe-feedback.ts';
import type { Config } from '../../config/config.ts';
import { findHeadingSection } from '../../core/text/heading-section.ts';
import { hasHidden } from '../../core/text/hidden-characters.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { listFiles, type TreeFile } from '../../git/objects/trees.ts';
import { readBytesAt } from '../../git/repository/inspect-repo.ts';
import { compileGlobs } from '../../lib/glob.ts';

/** Limits of the files that a prompt quotes. */
const MAX_PROMPT_FILE_BYTES = 256 * 1024;
const MAX_SPECS = 50;

/** Where the files are: the commit that the run starts from, so that no story can change the prompts of later ones. */
export interface PromptSource {
  gitDir: string;
  commit: string;
  prompt: Config['prompt'];
}

export interface ReadPromptFiles {
  files: PromptFile[];
  /** Files that are named but cannot be used, a sentence each. */
  problems: string[];
  /** What a person should know about files that are used or skipped, a sentence each. */
  warnings: string[];
}

/** Reads the files that `[prompt]` names. Never follows links and never leaves the tree of the commit. */
export async function readPromptFiles({ gitDir, commit, prompt }: PromptSource): Promise<ReadPromptFiles> {
  const named = namedFiles(prompt);
  const found: ReadPromptFiles = { files: [], problems: [], warnings: [] };
  if (named.length === 0 && prompt.specs.length === 0) return found;
  const wanted = new Set(named.map(({ path }) => path));
  const specs = compileGlobs(prompt.specs);
  const tree = await listFiles({ gitDir, commit }, ({ path }) => wanted.has(path) || specs.test(path));
  const files = new Map(tree.map((file) => [file.path, file]));
  for (const { use, key, path, heading } of named) {
    const read = await readText({ gitDir, commit }, files.get(path), path);
    const text = typeof read === 'string' ? pick(read, heading) : undefined;
    const name = heading === undefined ? path : `${path}#${heading}`;
    if (typeof read !== 'string') found.problems.push(`${key}: ${path} ${read.problem}`);
    else if (text === undefined) found.problems.push(`${key}: ${path} has no heading "${heading ?? ''}"`);
    else add(found, { use, name, text });
  }
  const matching = tree.filter(({ path }) => specs.test(path) && !wanted.has(path));
  if (prompt.specs.length > 0 && matching.length === 0) found.warnings.push('prompt.specs matches no file.');
  if (matching.length > MAX_SPECS)
    found.warnings.push(`prompt.specs matches ${matching.length} files; the prompt has the first ${MAX_SPECS}.`);
  for (const file of matching.slice(0, MAX_SPECS)) {
    const read = await readText({ gitDir, commit }, file, file.path);
    if (typeof read === 'string') add(found, { use: 'specs', name: file.path, text: read });
    else found.warnings.push(`prompt.specs: ${safeText(file.path)} ${read.problem} and is not part of the prompt.`);
  }
  return found;
}

/**
 * The files of one session. One that only writes tests gets the standards for tests in place of all others, if there are
 * any; for other sessions, a section of a file that is there as a whole would be said twice.
 */
export function filesOfSession(files: readonly PromptFile[], { testsOnly }: { testsOnly: boolean }): PromptFile[] {
  const hasOwn = files.some(({ use }) => use === 'test standards');
  if (testsOnly && hasOwn) return files.filter(({ use }) => use !== 'standards');
  const whole = files.filter(({ use }) => use === 'standards').map(({ name }) => name);
  return files.filter(({ use, name }) => use !== 'test standards' || !whole.includes(name.replace(/#.*/, '')));
}

/** The paths that `[prompt]` names, with their keys. */
export function namedFiles({ before, standards, testStandards, vision }: Config['prompt']) {
  const of = (use: PromptFile['use'], key: string, names: readonly (string | undefined)[]) =>
    names.flatMap((name) => {
      if (name === undefined) return [];
      const at = name.indexOf('#');
      const heading = at < 0 ? undefined : name.slice(at + 1).trim();
      return [{ use, key: `prompt.${key}`, path: at < 0 ? name : name.slice(0, at), heading }];
    });
  return [
    ...of('before', 'before', [before]),
    ...of('vision', 'vision', [vision]),
    ...of('standards', 'standards', standards),
    ...of('test standards', 'test_standards', testStandards),
  ];
}

function add({ files, warnings }: ReadPromptFiles, { use, name, text }: PromptFile): void {
  if (hasHidden(text))
    warnings.push(`${name} has hidden characters; the prompt shows them as code points, such as <U+200B>.`);
  if (text.trim() !== '') files.push({ use, name: safeText(name), text: safeText(text).trim() });
}

function pick(text: string, heading: string | undefined): string | undefined {
  return heading === undefined ? text : findHeadingSection(text, heading);
}

async function readText(
  { gitDir, commit }: Pick<PromptSource, 'gitDir' | 'commit'>,
  file: TreeFile | undefined,
  path: string,
): Promise<string | { problem: string }> {
  if (file === undefined) return { problem: `is not a file of the commit ${commit.slice(0, 7)}` };
  if (file.mode === '120000') return { problem: 'is a symbolic link' };
  if (file.mode === '160000') return { problem: 'is a submodule' };
  const place = { gitDir, commit, path, maxBytes: MAX_PROMPT_FILE_BYTES + 1, truncate: true as const };
  const bytes = (await readBytesAt(place)) ?? Buffer.alloc(0);
  if (bytes.length > MAX_PROMPT_FILE_BYTES) return { problem: `is larger than ${MAX_PROMPT_FILE_BYTES / 1024} KiB` };
  if (bytes.includes(0)) return { problem: 'is not a text file' };
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n');
  } catch {
    return { problem: 'is not a text file in UTF-8' };
  }
}
