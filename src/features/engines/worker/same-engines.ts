import { readEngineAddress, requireEngine } from '../../../config/engine-address.ts';
import { readEngines } from '../../../config/host-rules.ts';
import { LOCAL_ENGINE, localEngine, type EngineAddress } from '../../../core/engine/engine-address.ts';
import { openDockerEngine } from '../../../sandbox/docker/engine.ts';
import { isSameDocker } from '../../../sandbox/same-docker.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';

/** How long another engine may take to describe itself, in ms. */
const ASK_MS = 5_000;

/**
 * The names of the other engines, also that of the environment, that are the same Docker engine as this one. Those that
 * cannot be reached are left out. Throws CONFIG_INVALID.
 */
export async function findSameEngines(home: string, at: EngineAddress): Promise<string[]> {
  const engines = (await readEngines(home)).filter(({ name }) => name !== at.name);
  const others = engines.map(async (engine) => isSame(at, await readEngineAddress(home, engine)));
  if (at.name !== LOCAL_ENGINE) others.push(isSame(at, localEngine));
  const names = [...engines.map(({ name }) => name), LOCAL_ENGINE];
  const same = await Promise.all(others.map((asked) => asked.catch(() => false)));
  return names.filter((_name, index) => same[index] === true);
}

/** Says that two engines of config.toml are one. */
export function sameEngineText(name: string, other: string): { says: string; fix: string } {
  const says = `${name} and ${other} are the same Docker engine, so their slots are counted twice`;
  const fix = other === LOCAL_ENGINE ? `remove ${name} with \`halo engine rm ${name}\`, or start no worker for ${LOCAL_ENGINE}: \`halo up --workers 0\`` : `remove one of them with \`halo engine rm\``; // prettier-ignore
  return { says, fix };
}

async function isSame(at: EngineAddress, other: EngineAddress): Promise<boolean> {
  const clients = [at, other].map((each) => openDockerEngine(each, { deadlineMs: ASK_MS })) as [Client, Client];
  try {
    return await isSameDocker(...clients);
  } finally {
    for (const client of clients) client.close();
  }
}

type Client = ReturnType<typeof openDockerEngine>;

/** Logs that the engine of a worker is also another one of config.toml, or that of the environment. */
export async function warnOfSameEngine({ home, engineName, log }: WorkerContext): Promise<void> {
  const isLocal = engineName === LOCAL_ENGINE;
  const at = isLocal ? localEngine : await readEngineAddress(home, await requireEngine(home, engineName));
  const [other] = await findSameEngines(home, at);
  if (other === undefined) return;
  const { says, fix } = isLocal ? sameEngineText(other, engineName) : sameEngineText(engineName, other);
  log.warn({ hint: fix }, says);
}
