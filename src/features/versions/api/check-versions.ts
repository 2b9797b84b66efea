import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import type { Config } from '../../../config/config.ts';
import {
  AGENT_PROGRAMS,
  isProgramId,
  judgeVersion,
  PROGRAM_IDS,
  testedRange,
  TESTED_ON,
  type AgentVersions,
  type ProgramId,
} from '../../../core/agent-program.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { defined } from '../../../lib/guards.ts';
import { HALO_IMAGE } from '../../../sandbox/docker/image/image-recipe.ts';
import { runOneOffSandbox } from '../../../sandbox/one-off-sandbox.ts';
import type { SandboxEngine } from '../../../sandbox/sandbox.ts';

/** Says which chosen versions are missing or untested, and which programs of an image halo does not run. */
export async function checkVersions(
  engine: Pick<SandboxEngine, 'start' | 'agentVersions' | 'toolVersion'>,
  { agent, otherAgents, agentVersions, image }: Pick<Config, 'agent' | 'otherAgents' | 'agentVersions' | 'image'>,
): Promise<Finding[]> {
  const installed = await engine.agentVersions();
  const agents = [agent, ...Object.keys(otherAgents)].filter((name) => isProgramId(name));
  const ofImage = await Promise.all(agents.map(async (id) => [id, await engine.toolVersion(id)] as const));
  const used: AgentVersions = { ...(Object.fromEntries(ofImage) as AgentVersions), ...agentVersions };
  const findings = PROGRAM_IDS.flatMap((id) => {
    const version = used[id];
    if (version === undefined) return [];
    const isMissing = agentVersions[id] !== undefined && !installed.some((each) => each.id === id && each.version === version); // prettier-ignore
    return isMissing ? [missing(id, version)] : untested(id, version);
  });
  return [...findings, ...(image === HALO_IMAGE ? [] : await findHidden(engine, image))];
}

function missing(id: ProgramId, version: string): Finding {
  const says = `agents.${id}.version is ${version}, which is not installed`;
  return { name: 'versions', ok: 'fail', says, fix: `halo agent update ${id} --to ${version}` };
}

function untested(id: ProgramId, version: string): Finding[] {
  const judged = judgeVersion(id, version);
  if (judged === 'tested') return [];
  const says = `${AGENT_PROGRAMS[id].title} ${version} is ${judged} than what was tested with halo (${testedRange(id)}, ${TESTED_ON})`;
  const fix = judged === 'older' ? `halo agent update ${id}` : undefined;
  return [{ name: 'versions', ok: 'warn', says, ...defined({ fix }) }];
}

const LOOK_UP = `for program in ${PROGRAM_IDS.join(' ')}; do command -v "$program"; done; true`;

/** The programs of agents on the PATH of an image, which halo's own take the place of. */
async function findHidden(engine: Pick<SandboxEngine, 'start'>, image: string): Promise<Finding[]> {
  const { text } = await runOneOffSandbox(engine, { purpose: 'versions', image, script: LOOK_UP });
  return text.split('\n').flatMap((path): Finding[] => {
    const id = path.split('/').at(-1) ?? '';
    if (!isProgramId(id) || !path.startsWith('/')) return [];
    const says = `the image ${safeLine(image, 100)} has ${safeLine(path, 100)}, which halo does not run: it starts its own ${AGENT_PROGRAMS[id].title}`;
    return [{ name: 'versions', ok: 'warn', says, fix: `choose a version with \`halo agent pin ${id}\`` }];
  });
}
