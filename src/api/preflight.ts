import { access } from 'node:fs/promises';
import { agentAdapter } from '../agents/registry.ts';
import type { Config } from '../config/config.ts';
import { readSecret, type Env } from '../config/environment/host.ts';
import { HaloError } from '../core/failure/errors.ts';
import { TRUSTED_IMAGE } from '../sandbox/docker/trusted-image.ts';
import type { SandboxEngine } from '../sandbox/sandbox.ts';

/** Makes sure that this machine can work on a run with this configuration, before the run exists. Throws what is missing. */
export async function checkMachine(engine: SandboxEngine, env: Env, config: Config): Promise<void> {
  for (const image of new Set([TRUSTED_IMAGE, config.image])) {
    if ((await engine.imageId(image)) !== undefined) continue;
    const own = image === TRUSTED_IMAGE;
    throw new HaloError('IMAGE_MISSING', `The image ${image} is not on this machine.`, {
      hint: own ? 'Build it: halo image build' : `Pull or build it, e.g. docker pull ${image}`,
    });
  }
  const { title } = agentAdapter(config.agent);
  if (config.model.api !== undefined) await checkModel(title, env, config.model);
}

async function checkModel(agent: string, env: Env, model: Config['model']): Promise<void> {
  if (model.mode === 'replay') {
    const there = await access(model.cassettes ?? '').then(
      () => true,
      () => false,
    );
    if (there) return;
    throw new HaloError('CASSETTE_MISSING', `The folder of cassettes ${model.cassettes ?? ''} is not there.`, {
      hint: 'Set [model] cassettes to the folder to replay from, or mode = "live".',
    });
  }
  // A command may ask a person, and a file may be there only for the worker: they are used when the key is.
  if (model.keyEnv === undefined || readSecret(env, model.keyEnv) !== undefined) return;
  throw new HaloError('MODEL_KEY_MISSING', `${agent} needs a model, but ${model.keyEnv} is not set.`, {
    hint: `Set it: export ${model.keyEnv}=…; it never enters a container. Or name another variable in [model] key_env.`,
  });
}
