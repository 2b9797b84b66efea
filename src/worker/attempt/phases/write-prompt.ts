import { buildPrompt, type PromptInput } from '../../../agents/prompt.ts';
import type { Hint } from '../../../core/run/state.ts';
import { readFileAt } from '../../../git/repository/inspect-repo.ts';
import type { Attempt } from '../open-attempt.ts';

const MAX_GUIDANCE_BYTES = 64 * 1024;

/** Guidance files with only these words refer to another one. */
const REFERENCES = ['AGENTS.md', '@AGENTS.md', 'CLAUDE.md', '@CLAUDE.md'];

/** Builds the prompt of an attempt and keeps it among its artifacts. */
export async function writePrompt(attempt: Attempt): Promise<string> {
  const { inputs, config, worker, identity } = attempt;
  const { prd, state, story } = inputs;
  const hint = state.stories.find(({ id }) => id === story.id)?.hint;
  const prompt = buildPrompt({
    prd,
    story,
    progress: state.stories
      .filter(({ progress }) => progress === 'passed')
      .map(({ id, title, summary }) => ({ id, title, summary: summary ?? '' })),
    guidance: await readGuidance(attempt),
    gates: config.gates ?? [],
    ...(hint === undefined ? {} : { lastFailure: await readFailure(attempt, hint) }),
  });
  await worker.store.writeArtifact(identity.place, 'prompt.md', prompt);
  return prompt;
}

async function readFailure({ worker, identity }: Attempt, { attempt, reason, summary, withLog }: Hint) {
  const place = { ...identity.place, attempt };
  const log = withLog ? await worker.store.readArtifact(place, 'failure.log') : undefined;
  return { reason, summary, tail: log ?? '' };
}

/** The guidance files that the agent does not read by itself, without files that only refer to another one. */
async function readGuidance({ agent, inputs, resources }: Attempt): Promise<PromptInput['guidance']> {
  const files = agent.adapter.guidanceFiles.map(async (file) => {
    const text = await readFileAt({
      gitDir: resources.mirrorDir,
      commit: inputs.base,
      path: file,
      maxBytes: MAX_GUIDANCE_BYTES,
      truncate: true,
    });
    return { file, text: text ?? '' };
  });
  const found = (await Promise.all(files)).filter(({ text }) => !['', ...REFERENCES].includes(text.trim()));
  return found.filter(({ text }, index) => found.findIndex((other) => other.text === text) === index);
}
