import { agentAdapter } from '../agents/registry.ts';
import type { AgentAbout } from '../agents/adapter.ts';
import type { Config } from '../config/config.ts';
import { askSandbox } from '../sandbox/one-off-sandbox.ts';
import { AGENT_HOME } from './workspace/sandbox-paths.ts';
import type { WorkerContext } from './worker-context.ts';

/** A help page, with room to spare. */
const MOST_BYTES = 128 * 1024;

/**
 * Notes in run.json which agent works on the run, where that is known at last: its version and, while the first story
 * begins, what the program says it can do and how it is used.
 */
export async function noteAgent(worker: WorkerContext, runId: string, config: Config): Promise<void> {
  const { agent: name } = config;
  const { about } = agentAdapter(name);
  const version = await worker.engine.toolVersion(name);
  if (version === undefined) return;
  await worker.store.amend(runId, { agent: { name, version } });
  if (about === undefined) return;
  const noting = listen(worker, about, config)
    .then((output) => worker.store.amend(runId, { agent: { name, version, ...about.read(output) } }))
    .catch((error: unknown) => worker.log.warn({ runId, err: error }, 'the agent could not be asked what it can do'));
  worker.inBackground(noting);
}

/** A sandbox like that of the agent, but with nothing in it and no way out. */
async function listen(worker: WorkerContext, { script }: AgentAbout, config: Config): Promise<string> {
  const { runtime } = await worker.prove(config);
  const { text } = await askSandbox(worker.engine, {
    about: 'agent',
    script,
    image: config.image,
    env: { HOME: AGENT_HOME },
    limits: { cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 64 },
    runtime,
    outputBytes: MOST_BYTES,
  });
  return text;
}
