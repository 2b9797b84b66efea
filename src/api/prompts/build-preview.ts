import { agentAdapter } from '../../agents/registry.ts';
import { chooseAgent, withChoice } from '../../config/choice/choose-agent.ts';
import type { Config } from '../../config/config.ts';
import { choiceReason } from '../../core/agent-choice.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { PrdFile, Story } from '../../core/prd/prd.ts';
import { resolveTestsFirst } from '../../core/prd/tests-first-field.ts';
import { testGlobsOf } from '../../core/review/tests-first.ts';
import { sortStories } from '../../core/run/story-order.ts';
import { assertFilledIn } from '../../core/prd/prd-template.ts';
import { closeSentence } from '../../core/text/did-you-mean.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { defined } from '../../lib/guards.ts';
import { listSome } from '../../lib/text.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { buildStoryPrompt } from '../../worker/story-prompt.ts';
import type { PreviewedPrompt, SubmitOptions } from '../operations/schemas.ts';
import { resolveSubmission } from '../submit/resolve-submission.ts';
import { readInTurn } from '../access/read-in-turn.ts';
import type { SubmitContext } from '../submit/submit-context.ts';

const MAX_NAMED = 10;
const NO_GATES = 'No gates are configured: halo run --prd runs without gates, and other runs are refused.';

/** Builds the first prompt of the first attempt at a story (with tests first, the one for its tests) as a run of the checked-out commit would, without a run. */
export async function previewPrompt(
  context: SubmitContext,
  {
    prd: file,
    repo: source,
    story: storyId,
    ...options
  }: SubmitOptions & { prd: PrdFile; repo: string; story?: string | undefined },
): Promise<PreviewedPrompt> {
  const prd = await readInTurn(context, () => parsePrd(file.bytes, file.path));
  assertFilledIn(prd, file.path);
  const story = chooseStory(prd.stories, storyId);
  // Uncommitted changes are not part of a prompt, so they need not be refused.
  const request = { ...options, allowDirty: true };
  const {
    repo,
    config: ofRun,
    from,
    access,
  } = await resolveSubmission(
    { ...context, preflight: undefined },
    { request, source, prd: file, stories: [story], needsGates: false },
  );
  const { home } = context.host;
  const choice = chooseAgent(ofRun, { story, attempt: 1 });
  const config = withChoice(ofRun, choice);
  const { command = '', files } = config.tests;
  const first = resolveTestsFirst(config.tests.first, story, prd);
  if (isUrl(repo.source)) await updateMirror({ home, name: repo.mirror, from, access, commit: repo.base });
  const { prompt, problems, warnings } = await buildStoryPrompt({
    gitDir: isUrl(repo.source) ? mirrorPath(home, repo.mirror) : from,
    runBase: repo.base,
    base: repo.base,
    prd,
    story,
    config,
    adapter: agentAdapter(config.agent),
    ...(first !== 'off' && { testsFirst: { command, write: testGlobsOf(files, story) } }),
  });
  return {
    story: story.id,
    agent: config.agent,
    ...chosenModel(config),
    ...(choice !== undefined && { chosenBy: choiceReason(choice) }),
    commit: repo.base,
    ...(first !== 'off' && { testsFirst: first }),
    ...prompt,
    problems,
    warnings: [...(config.gates === undefined ? [NO_GATES] : []), ...warnings],
  };
}

function chosenModel({ model: { api, name }, agentOptions, prices }: Config): Partial<PreviewedPrompt> {
  const { input, output } = (Object.hasOwn(prices, name) ? prices[name] : undefined) ?? {};
  const price = input === undefined || output === undefined ? undefined : { input, output };
  return {
    ...(api !== undefined && { model: name, ...defined({ price }) }),
    ...defined({ effort: agentOptions.effort }),
  };
}

/** The story with this id, or the one that would run first. Throws STORY_NOT_FOUND. */
function chooseStory(stories: readonly Story[], id: string | undefined): Story {
  const open = sortStories([...stories]).filter(({ status }) => status === 'pending' || status === 'in_progress');
  const found = id === undefined ? (open[0] ?? stories[0]) : stories.find((story) => story.id === id);
  if (found !== undefined) return found;
  const ids = stories.map((story) => story.id);
  throw new HaloError(
    'STORY_NOT_FOUND',
    id === undefined
      ? 'The PRD has no stories.'
      : `The PRD has no story ${JSON.stringify(id)}${closeSentence(id, ids)}`,
    {
      hint:
        ids.length === 0 ? 'Add a story to the PRD.' : `Pass one of its ids with --story: ${listSome(ids, MAX_NAMED)}.`,
    },
  );
}
