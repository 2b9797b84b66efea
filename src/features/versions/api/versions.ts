import type { Host } from '../../../config/config.ts';
import { applyDefaults } from '../../../config/apply-defaults.ts';
import { imagesOfVersions } from '../../../config/choice/chosen-versions.ts';
import { processEnv } from '../../../config/environment/host.ts';
import { readEngines, readMachineConfig } from '../../../config/host-rules.ts';
import { changeHostConfig } from '../../../api/change-host-config.ts';
import {
  AGENT_PROGRAMS,
  agentImage,
  EXACT_VERSION,
  isProgramId,
  PROGRAM_IDS,
  programCommand,
  VERSION_DIR,
  type AgentVersions,
  type ProgramId,
} from '../../../core/agent-program.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { closeSentence } from '../../../core/text/did-you-mean.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { defined } from '../../../lib/guards.ts';
import { openDockerEngine } from '../../../sandbox/docker/engine.ts';
import { findNewestVersion, installVersion } from '../../../sandbox/docker/image/agent-image.ts';
import { readAgentVersion } from '../../../sandbox/probe-agent.ts';
import type { SandboxEngine } from '../../../sandbox/sandbox.ts';
import { openStore } from '../../../store/store.ts';
import { hasSettings } from '../../../worker/run/read-run.ts';
import { withPin } from '../core/pin.ts';
import { listVersions, type ProgramVersions } from '../core/version-list.ts';

/** The versions of all programs on this machine. The registry may be out of reach. Throws CONFIG_INVALID, DOCKER_UNAVAILABLE. */
export async function readVersions({ home }: Pick<Host, 'home'>): Promise<ProgramVersions[]> {
  return withEngine(async (engine) => {
    const [config, ofImage, installed, used, newest] = await Promise.all([
      readMachineConfig({ home, env: processEnv() }),
      versionsOfImage(engine),
      engine.agentVersions(),
      readUsed(home),
      Promise.all(PROGRAM_IDS.map(async (id) => [id, await askNewest(id)] as const)),
    ]);
    const known = Object.fromEntries(newest) as Record<ProgramId, ProgramVersions['newest']>;
    return listVersions({ ofImage, installed, used, pinned: config.agentVersions, newest: known });
  });
}

/** Undefined members: there is no image of halo. */
async function versionsOfImage(engine: SandboxEngine): Promise<AgentVersions> {
  const found = await Promise.all(
    PROGRAM_IDS.map(async (id) => [id, await engine.toolVersion(id).catch(undefinedIfMissing)] as const),
  );
  return defined(Object.fromEntries(found)) as AgentVersions;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof HaloError) || error.code !== 'IMAGE_MISSING') throw error;
}

async function askNewest(id: ProgramId): Promise<ProgramVersions['newest']> {
  return findNewestVersion(id).then(
    (version) => ({ version }),
    (error: unknown) => ({ why: safeLine((error as Error).message, 200) }),
  );
}

/** What came of an update of a program. */
export interface UpdatedProgram {
  agent: ProgramId;
  version: string;
  /** `image`: halo's image has this version. `there`: it was installed before. */
  was: 'installed' | 'image' | 'there';
  /** What runs use. */
  runs: string;
  /** The names of further engines of config.toml, which lack it. */
  engines: readonly string[];
}

interface Update {
  /** Default: the newest one. */
  to?: string | undefined;
  log: (line: string) => void;
}

/**
 * Installs a version of a program on this machine, and starts it once in a sandbox. Throws USAGE for a version that does not
 * exist, IMAGE_BUILD_FAILED, IMAGE_MISSING, DOCKER_UNAVAILABLE, CONFIG_INVALID.
 */
export async function updateProgram(
  { home }: Pick<Host, 'home'>,
  agent: ProgramId,
  { to, log }: Update,
): Promise<UpdatedProgram> {
  if (to !== undefined) assertExact(to);
  return withEngine(async (engine) => {
    const { agentVersions } = await readMachineConfig({ home, env: processEnv() });
    const ofImage = await engine.toolVersion(agent);
    const version = to ?? (await findNewestVersion(agent));
    assertExact(version);
    const before = await engine.agentVersions();
    const engines = (await readEngines(home)).map(({ name }) => name);
    const result = { agent, version, runs: agentVersions[agent] ?? ofImage ?? '', engines };
    if (version === ofImage && to === undefined) return { ...result, was: 'image' };
    const isThere = before.some((each) => each.id === agent && each.version === version);
    await installVersion(agent, version, { log });
    await assertStarts(engine, agent, version);
    return { ...result, was: isThere ? 'there' : 'installed' };
  });
}

/** Throws IMAGE_BUILD_FAILED if the program does not start, or says that it has another version. */
async function assertStarts(engine: SandboxEngine, agent: ProgramId, version: string): Promise<void> {
  const { title } = AGENT_PROGRAMS[agent];
  const versionCommand = `${programCommand(agent, version)} --version`;
  const mounts = [{ kind: 'agent' as const, agent, version, target: VERSION_DIR }];
  const said = await readAgentVersion(engine, { title, versionCommand, mounts }).catch(undefinedIfMissing);
  if (said?.includes(version)) return;
  const what = said === undefined ? 'does not start in a sandbox' : `says that it is ${safeLine(said, 60)}`;
  throw new HaloError('IMAGE_BUILD_FAILED', `${title} ${version} of npm ${what}.`, {
    hint: 'Choose another version with --to.',
  });
}

/** The agent with this name. Throws USAGE with the closest name. */
export function requireProgram(name: string): ProgramId {
  if (isProgramId(name)) return name;
  const what = `halo installs no program for an agent ${JSON.stringify(safeLine(name, 60))}`;
  throw new HaloError('USAGE', `${what}${closeSentence(name, PROGRAM_IDS)}`, {
    hint: `Name one of ${PROGRAM_IDS.join(', ')}. An agent of the Agent Client Protocol is part of your own image.`,
  });
}

/**
 * Writes which version runs of this machine use into config.toml of HALO_HOME; undefined: that of halo's image. Throws
 * USAGE for a version that is not installed, CONFIG_INVALID, DISK_FAILED, DOCKER_UNAVAILABLE.
 */
export async function pinProgram(
  { home }: Pick<Host, 'home'>,
  agent: ProgramId,
  version: string | undefined,
): Promise<void> {
  if (version !== undefined) await assertInstalled(agent, version);
  await changeHostConfig(
    home,
    (text) => withPin(text, agent, version),
    ({ config }) => {
      if (config.agentVersions[agent] === version) return;
      throw new HaloError(
        'CONFIG_INVALID',
        `The file config.toml sets agents.${agent}.version outside of [agents.${agent}].`,
        {
          hint: 'Change it there by hand.',
        },
      );
    },
  );
}

/**
 * Removes a version of a program from this machine. Throws USAGE for one that is not installed, CONTROL_REFUSED for one that
 * is pinned or that a run may start which has not ended, CONFIG_INVALID, DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function removeProgram({ home }: Pick<Host, 'home'>, agent: ProgramId, version: string): Promise<void> {
  await assertInstalled(agent, version);
  const { agentVersions } = await readMachineConfig({ home, env: processEnv() });
  const name = `${AGENT_PROGRAMS[agent].title} ${version}`;
  if (agentVersions[agent] === version)
    throw new HaloError('CONTROL_REFUSED', `${name} is pinned.`, {
      hint: `Run \`halo agent pin ${agent} --off\`, or pin another version.`,
    });
  const used = await readUsed(home);
  const [run] = [...used].find(([, images]) => images.includes(agentImage(agent, version))) ?? [];
  if (run !== undefined)
    throw new HaloError('CONTROL_REFUSED', `The run ${run}, which has not ended, uses ${name}.`, {
      hint: `Wait for its end, or run \`halo cancel ${run}\`.`,
    });
  if (await withEngine((engine) => engine.removeAgentVersion(agent, version))) return;
  throw new HaloError('CONTROL_REFUSED', `A sandbox on this machine uses ${name}.`, {
    hint: 'Wait for the end of its run; another HALO_HOME may have started it.',
  });
}

/** The images of versions that each run may start which has not ended. */
async function readUsed(home: string): Promise<Map<string, string[]>> {
  const store = openStore(home, { transcribe: () => [] });
  const open = await store.openRuns();
  const used = open.map(async ({ runId }): Promise<[string, string[]]> => {
    const { config } = await store.readRecord(runId);
    return [runId, hasSettings(config) ? imagesOfVersions(applyDefaults(config)) : []];
  });
  return new Map(await Promise.all(used));
}

async function assertInstalled(agent: ProgramId, version: string): Promise<void> {
  assertExact(version);
  const installed = await withEngine((engine) => engine.agentVersions());
  const own = installed.filter(({ id }) => id === agent).map((each) => each.version);
  if (own.includes(version)) return;
  const { title } = AGENT_PROGRAMS[agent];
  throw new HaloError('USAGE', `${title} ${version} is not installed${closeSentence(version, own)}`, {
    hint: `Install it with \`halo agent update ${agent} --to ${version}\`.`,
  });
}

function assertExact(version: string): void {
  if (EXACT_VERSION.test(version)) return;
  throw new HaloError('USAGE', `${JSON.stringify(safeLine(version, 60))} is not an exact version, like "1.2.3".`, {
    hint: '`halo agent ls` shows versions.',
  });
}

async function withEngine<T>(use: (engine: SandboxEngine) => Promise<T>): Promise<T> {
  const engine = openDockerEngine();
  try {
    return await use(engine);
  } finally {
    engine.close();
  }
}
