import type { AgentAdapter } from '../../agents/adapter.ts';
import { buildPlanPrompt, buildPrompt, type PromptInput } from '../../agents/prompt/build-prompt.ts';
import type { BuiltPrompt } from '../../agents/prompt/prompt-section.ts';
import type { Config } from '../../config/config.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import { readFileAt } from '../../git/repository/inspect-repo.ts';
import { filesOfSession, readPromptFiles, type ReadPromptFiles } from './read-prompt-files.ts';
import { defined } from '../../lib/guards.ts';

const MAX_GUIDANCE_BYTES = 64 * 1024;

/** The limit of a prompt for a PRD of swanson, unless one is configured. */
const SWANSON_MAX_TOKENS = 15_000;

/** Guidance files with only these words refer to another one. */
const REFERENCES = ['AGENTS.md', '@AGENTS.md', 'CLAUDE.md', '@CLAUDE.md'];

export interface StoryPromptRequest extends Partial<Pick<PromptInput, 'answered' | 'feedback' | 'landed' | 'earlier'>> {
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
  progress?: PromptInput['progress'];
  lastFailure?: PromptInput['lastFailure'];
}

export interface StoryPrompt extends Omit<ReadPromptFiles, 'files'> {
  prompt: BuiltPrompt;
}

/** The prompt of a story, with the files of the repository that belong to it. */
export async function buildStoryPrompt(request: StoryPromptRequest): Promise<StoryPrompt> {
  const { gitDir, runBase, prd, story, config, progress = [], lastFailure } = request;
  const [{ files, ...notes }, guidance] = await Promise.all([
    readPromptFiles({ gitDir, commit: runBase, prompt: config.prompt }),
    readGuidance(request),
  ]);
  const { testsFirst, answered, feedback, landed, earlier } = request;
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
    ...defined({ lastFailure, answered, feedback, landed, earlier, dry: request.dry, testsFirst }),
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
