import { access } from 'node:fs/promises';
import { agentAdapter } from '../../agents/registry.ts';
import { withChoice } from '../../config/choice/choose-agent.ts';
import { imagesOfVersions } from '../../config/choice/chosen-versions.ts';
import { reviewerModel } from '../../config/choice/reviewer-model.ts';
import type { Config, ModelSource } from '../../config/config.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import { programOfImage } from '../../core/agent-program.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { listSome } from '../../lib/text.ts';
import { imageMissing } from '../../sandbox/docker/docker-client.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import { SERVICES } from '../../worker/joined.ts';

/** Checks before a run is created that this machine can execute it. Throws what is missing. */
export async function assertMachineReady(engine: SandboxEngine, env: Env, config: Config): Promise<void> {
  const services = SERVICES.images(config);
  const images = [...new Set([HALO_IMAGE, config.image, ...services, ...imagesOfVersions(config)])];
  const found = await Promise.all(
    images.map((image) => (services.includes(image) ? engine.describeImage(image) : engine.imageId(image))),
  );
  const image = images.find((_, at) => found[at] === undefined);
  if (image !== undefined) {
    if (programOfImage(image) !== undefined) throw imageMissing(image, {});
    const own = image === HALO_IMAGE;
    throw new HaloError('IMAGE_MISSING', `The image ${image} is not on this machine.`, {
      hint: own ? 'Build it with `halo image build`.' : `Pull or build it, e.g. with \`docker pull ${image}\`.`,
    });
  }
  for (const agent of [config.agent, ...Object.keys(config.otherAgents)]) {
    const { model } = withChoice(config, { agent });
    if (model.api !== undefined) await assertModelAvailable({ agent, user: usersOf(config, agent) }, env, model);
  }
  await assertReviewerAvailable(env, config);
}

/** Any of the reviewers may review. */
async function assertReviewerAvailable(env: Env, { review: { reviewers }, model }: Config): Promise<void> {
  const [first] = reviewers;
  if (first === undefined || reviewers.some((each) => each.model.api === undefined)) return;
  const missing = reviewers.map((each) => missingVariable(env, each.model));
  if (model.mode !== 'replay') {
    if (missing.includes(undefined)) return;
    if (reviewers.length > 1)
      throw new HaloError(
        'MODEL_KEY_MISSING',
        `[review] needs an agent with a key, but review.agent names none, and ${missing.join(', ')} are not set.`,
        { hint: 'Set one of them (it never enters a container), choose review.agent, or set review.when = "never".' },
      );
  }
  const user = ' (chosen by review.agent)';
  await assertModelAvailable({ agent: first.agent, user }, env, reviewerModel({ model }, first));
}

/** The first variable of a key of a provider that is not set. */
function missingVariable(env: Env, model: ModelSource): string | undefined {
  // A command may ask the user, and only the worker may have the file: both are read when the key is needed.
  const variables = [model, ...model.keys].flatMap(({ keyEnv = [] }) => keyEnv);
  return variables.find((name) => readSecret(env, name) === undefined);
}

/** What chooses an agent other than that of the run. */
function usersOf({ agent: ofRun, storyChoices, route, fallback }: Config, agent: string): string {
  if (agent === ofRun) return '';
  const stories = Object.keys(storyChoices).filter((id) => storyChoices[id]?.agent === agent);
  const routes = route.flatMap((each, index) => (each.agent === agent ? [`route ${index + 1}`] : []));
  const users = [
    ...(fallback.includes(agent) ? ['fallback'] : []),
    ...routes,
    ...stories.map((id) => `story ${safeLine(id, 100)}`),
  ];
  return ` (chosen by ${listSome(users, MAX_NAMED)})`;
}

const MAX_NAMED = 5;

async function assertModelAvailable(
  { agent, user }: { agent: string; user: string },
  env: Env,
  model: Config['model'],
): Promise<void> {
  if (model.mode === 'replay') {
    const there = await access(model.cassettes ?? '').then(
      () => true,
      () => false,
    );
    if (there) return;
    throw new HaloError('CASSETTE_MISSING', `The folder of cassettes ${model.cassettes ?? ''} does not exist.`, {
      hint: 'Set [model] cassettes to the folder to replay from, or mode = "live".',
    });
  }
  const missing = missingVariable(env, model);
  if (missing === undefined) return;
  const setting =
    missing === model.keyEnv
      ? `[${user === '' ? 'model' : `providers.${model.api ?? ''}`}] key_env`
      : 'key_env of [[model.keys]]';
  throw new HaloError(
    'MODEL_KEY_MISSING',
    `${agentAdapter(agent).title} needs a model, but ${missing} is not set${user}.`,
    {
      hint: `Set it with \`export ${missing}=…\` (it never enters a container), or set ${setting} to another variable.`,
    },
  );
}
