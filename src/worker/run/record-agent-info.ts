import type { BuildDescription } from '../../agents/adapter.ts';
import { agentAdapter } from '../../agents/registry.ts';
import type { Config } from '../../config/config.ts';
import { runOneOffSandbox } from '../../sandbox/one-off-sandbox.ts';
import { AGENT_HOME } from '../../sandbox/sandbox.ts';
import type { WorkerContext } from '../worker-context.ts';

/** More than enough for a help page. */
const MAX_BYTES = 128 * 1024;

/**
 * Records the agent's version in run.json and, in the background, the features that its program reports.
 */
export async function recordAgentInfo(worker: WorkerContext, runId: string, config: Config): Promise<void> {
  const { agent: name } = config;
  const { describeBuild } = agentAdapter(name);
  const version = await worker.engine.toolVersion(name);
  if (version === undefined) return;
  await worker.store.amend(runId, { agent: { name, version } });
  if (describeBuild === undefined) return;
  const recording = runProbe(worker, describeBuild, config)
    .then((output) => worker.store.amend(runId, { agent: { name, version, ...describeBuild.read(output) } }))
    .catch((error: unknown) => worker.log.warn({ runId, err: error }, 'agent features could not be read'));
  worker.inBackground(recording);
}

/** Runs a script in a sandbox like the agent's, with an empty workspace and no network. */
async function runProbe(worker: WorkerContext, { script }: BuildDescription, config: Config): Promise<string> {
  const { runtime } = await worker.checkIsolation(config);
  const { text } = await runOneOffSandbox(worker.engine, {
    purpose: 'agent',
    script,
    image: config.image,
    env: { HOME: AGENT_HOME },
    limits: { cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 64 },
    runtime,
    outputBytes: MAX_BYTES,
  });
  return text;
}
