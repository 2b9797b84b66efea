import { classifyFailure } from '../../../core/failure/failure.ts';
import { storyOf, type Hint } from '../../../core/run/state.ts';
import { buildStoryPrompt } from '../../prompt/story-prompt.ts';
import type { TestsFirst } from '../../../agents/prompt/build-prompt.ts';
import { commandFor, testGlobsOf } from '../../../core/review/tests-first.ts';
import { defined } from '../../../lib/guards.ts';
import type { Attempt } from '../open-attempt.ts';

/** Builds the prompt of an attempt, records what is in it, and keeps it among its artifacts. */
export async function writePrompt(attempt: Attempt): Promise<string> {
  const { inputs, config, worker, identity, agent, resources, journal } = attempt;
  const { prd, state, story, base } = inputs;
  const hint = hintFor(attempt);
  const { prompt, problems } = await buildStoryPrompt({
    gitDir: resources.mirrorDir,
    runBase: state.repo.base,
    base,
    prd,
    story,
    config,
    adapter: agent.adapter,
    dry: state.dry,
    planning: state.planning,
    testsFirst: testsFirstOf(attempt),
    ...(await readReviews(attempt)),
    progress: state.stories
      .filter(({ progress }) => progress === 'passed' && !state.dry)
      .map(({ id, title, summary }) => ({ id, title, summary: summary ?? '' })),
    ...(hint === undefined ? {} : { lastFailure: await readFailure(attempt, hint) }),
  });
  const { text, tokens, maxTokens, sections } = prompt;
  const missing = problems.length === 0 ? {} : { missing: problems };
  const record = { tokens, maxTokens, sections, ...missing };
  await worker.store.writeArtifact(identity.location, 'prompt.md', text);
  await worker.store.writeArtifact(identity.location, 'prompt.json', `${JSON.stringify(record, null, 2)}\n`);
  await journal.report({ type: 'prompt.built', ...record });
  return text;
}

/** What people said about earlier attempts, and the work of the attempt with which this one continues. */
async function readReviews({ inputs, continued, worker, identity, task }: Attempt) {
  const { answered, feedback, commit: landed } = storyOf(inputs.state, inputs.story.id);
  const said = defined({ answered, feedback, landed });
  // The commit that it refactors is the last one.
  if (continued === undefined || task === 'refactor') return said;
  const { attempt, commit } = continued;
  if (commit !== undefined) return { ...said, earlier: { attempt } };
  const patch = await worker.store.readArtifact({ ...identity.location, attempt }, 'diff.patch');
  return patch === undefined || patch === '' ? said : { ...said, earlier: { attempt, patch } };
}

/** What the prompt says about an earlier failure: one of the tests concerns only the agent that writes them. */
function hintFor({ inputs, locked, task }: Attempt): Hint | undefined {
  if (task === 'refactor') return undefined;
  const { hint, lastFailure } = storyOf(inputs.state, inputs.story.id);
  const classes = [lastFailure?.class, ...(hint ? [classifyFailure({ stopReason: hint.reason }).class] : [])];
  const isOfTests = classes.includes('tests');
  return isOfTests && locked !== undefined ? undefined : hint;
}

function testsFirstOf({ config, inputs, task, locked }: Attempt): TestsFirst | undefined {
  const { command = '', files } = config.tests;
  if (task === 'tests') return { command, write: testGlobsOf(files, inputs.story) };
  const refactor = task === 'refactor';
  return locked && { command: commandFor(locked), locked: locked.files.map(({ path }) => path), refactor };
}

async function readFailure({ worker, identity }: Attempt, { attempt, reason, summary, withLog }: Hint) {
  const location = { ...identity.location, attempt };
  const log = withLog ? await worker.store.readArtifact(location, 'failure.log') : undefined;
  return { reason, summary, tail: log ?? '', attempt: identity.attempt };
}
