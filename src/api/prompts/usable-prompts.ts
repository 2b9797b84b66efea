import { buildPlanPrompt, buildPrompt } from '../../agents/prompt/build-prompt.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { listSome } from '../../lib/text.ts';
import { filesOfSession, maxTokensOf, readPromptFiles } from '../../worker/story-prompt.ts';
import type { ResolvedSubmission } from '../submit/resolve-submission.ts';

const MAX_NAMED = 5;

interface PromptCheck {
  /** A git directory that has the base commit of the run. */
  gitDir: string;
  run: Pick<ResolvedSubmission, 'repo' | 'config'>;
  prd: Prd;
  /** The agent plans stories. */
  planning?: boolean | undefined;
}

/**
 * Checks the files that `[prompt]` names and the length of all prompts; returns warnings. Throws CONFIG_INVALID and
 * PROMPT_TOO_LARGE.
 */
export async function requireUsablePrompts({
  gitDir,
  run: { repo, config },
  prd,
  planning,
}: PromptCheck): Promise<string[]> {
  const { prompt, gates = [] } = config;
  const { files: named, problems, warnings } = await readPromptFiles({ gitDir, commit: repo.base, prompt });
  if (problems.length > 0)
    throw new HaloError('CONFIG_INVALID', problems.map((problem) => `${problem}.`).join('\n'), {
      hint: 'Commit the file, or correct its path in the table [prompt]; paths start at the top of the repository.',
    });
  const files = filesOfSession(named, { testsOnly: false });
  const maxTokens = maxTokensOf(config, prd);
  if (maxTokens === 0) return warnings;
  const tooLong = prd.stories.flatMap((story) => {
    if (story.status === 'done' || story.status === 'skipped') return [];
    const build = planning ? buildPlanPrompt : buildPrompt;
    const { fits, tokens } = build({ prd, story, progress: [], guidance: [], files, gates, maxTokens });
    return fits ? [] : [`${story.id} (${tokens})`];
  });
  if (tooLong.length === 0) return warnings;
  throw new HaloError(
    'PROMPT_TOO_LARGE',
    `The prompts of these stories have more than ${maxTokens} tokens, although all that may be cut is cut: ${listSome(tooLong, MAX_NAMED)}.`,
    { hint: 'Split the stories, shorten the file of prompt.before, or raise prompt.max_tokens (0: no limit).' },
  );
}
