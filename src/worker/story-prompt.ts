import type { AgentAdapter } from '../agents/adapter.ts';
import { buildPlanPrompt, buildPrompt, type PromptInput } from '../agents/prompt/build-prompt.ts';
import type { PromptFile } from '../agents/prompt/describe-feedback.ts';
import type { BuiltPrompt } from '../agents/prompt/prompt-section.ts';
import type { Config } from '../config/config.ts';
import type { Prd, Story } from '../core/prd/prd.ts';
import { findHeadingSection } from '../core/text/heading-section.ts';
import { hasHidden } from '../core/text/hidden-characters.ts';
import { safeText } from '../core/text/safe-text.ts';
import { listFiles, type TreeFile } from '../git/objects/trees.ts';
import { readBytesAt, readFileAt } from '../git/repository/inspect-repo.ts';
import { compileGlobs } from '../lib/glob.ts';
import { defined } from '../lib/guards.ts';

const MAX_GUIDANCE_BYTES = 64 * 1024;

/** The limit of a prompt for a PRD of swanson, unless one is configured. */
const SWANSON_MAX_TOKENS = 15_000;

/** Guidance files with only these words refer to another one. */
const REFERENCES = ['AGENTS.md', '@AGENTS.md', 'CLAUDE.md', '@CLAUDE.md'];

interface StoryPromptRequest extends Partial<
  Pick<PromptInput, 'answered' | 'feedback' | 'messages' | 'landed' | 'earlier'>
> {
  gitDir: string;
  /** The commit that the run starts from: its files are quoted. */
  runBase: string;
  /** The commit that the story builds on: its guidance is quoted. */
  base: string;
  prd: Prd;
  story: Story;
  config: Pick<Config, 'agentAnswer' | 'prompt' | 'gates'>;
  adapter: Pick<AgentAdapter, 'guidanceFiles' | 'hasAnswerSchema'>;
  dry?: boolean | undefined;
  planning?: boolean | undefined;
  testsFirst?: PromptInput['testsFirst'] | undefined;
  services?: PromptInput['services'];
  progress?: PromptInput['progress'];
  lastFailure?: PromptInput['lastFailure'];
}

interface StoryPrompt extends Omit<ReadPromptFiles, 'files'> {
  prompt: BuiltPrompt;
}

/** The prompt of a story, with the files of the repository that belong to it. */
export async function buildStoryPrompt(request: StoryPromptRequest): Promise<StoryPrompt> {
  const { gitDir, runBase, prd, story, config, progress = [], lastFailure } = request;
  const [{ files, ...notes }, guidance] = await Promise.all([
    readPromptFiles({ gitDir, commit: runBase, prompt: config.prompt }),
    readGuidance(request),
  ]);
  const { testsFirst, answered, feedback, messages, landed, earlier } = request;
  const testsOnly = testsFirst !== undefined && 'write' in testsFirst;
  const build = request.planning ? buildPlanPrompt : buildPrompt;
  const prompt = build({
    prd,
    story,
    ...(config.prompt.prd === 'whole' ? { stories: prd.stories.filter(({ id }) => id !== story.id) } : {}),
    progress,
    guidance,
    files: filesOfSession(files, { testsOnly }),
    gates: config.gates ?? [],
    ...defined({ services: request.services }),
    ...defined({ lastFailure, answered, feedback, messages, landed, earlier, dry: request.dry, testsFirst }),
    maxTokens: maxTokensOf(config, prd),
    answer: answerFormOf(config, request.adapter),
  });
  return { prompt, ...notes };
}

/** The form of the answer that the prompt asks for. */
export function answerFormOf(
  { agentAnswer }: Pick<Config, 'agentAnswer'>,
  { hasAnswerSchema }: Pick<AgentAdapter, 'hasAnswerSchema'>,
): 'json' | 'signals' {
  return hasAnswerSchema ? 'json' : agentAnswer;
}

/** The limit of the prompts of a PRD; 0: none. */
export function maxTokensOf({ prompt }: Pick<Config, 'prompt'>, { dialect }: Pick<Prd, 'dialect'>): number {
  return prompt.maxTokens ?? (dialect === 'swanson' ? SWANSON_MAX_TOKENS : 0);
}

/** The guidance files that the agent does not read by itself, without files that only refer to another one. */
async function readGuidance({ adapter, gitDir, base }: StoryPromptRequest): Promise<PromptInput['guidance']> {
  const files = adapter.guidanceFiles.map(async (file) => {
    const place = { gitDir, commit: base, path: file, maxBytes: MAX_GUIDANCE_BYTES, truncate: true as const };
    return { file, text: (await readFileAt(place)) ?? '' };
  });
  const found = (await Promise.all(files)).filter(({ text }) => !['', ...REFERENCES].includes(text.trim()));
  return found.filter(({ text }, index) => found.findIndex((other) => other.text === text) === index);
}

/** Limits of the files that a prompt quotes. */
const MAX_PROMPT_FILE_BYTES = 256 * 1024;
const MAX_SPECS = 50;

/** Where the files are: the commit that the run starts from, so that no story can change the prompts of later ones. */
interface PromptSource {
  gitDir: string;
  commit: string;
  prompt: Config['prompt'];
}

interface ReadPromptFiles {
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
