import { AGENT_IDS, type AgentId } from './agent.ts';

/** The agents whose programs halo installs: in its image, or further versions of them beside it. */
export type ProgramId = Exclude<AgentId, 'command'>;

/** What halo knows of the program of an agent. */
interface AgentProgram {
  title: string;
  /** Its file, in its folder. */
  file: string;
  /** The interpreter of the file, if it needs one. */
  interpreter?: string;
  /** Versions that stories were made with, by this version of halo: from the oldest to the newest, as `1.2.3`. */
  tested: readonly [oldest: string, newest: string];
}

/** The Node of halo's image, for programs in images without it. */
export const NODE = '/opt/halo/agents/node/bin/node';

/** The day on which the newest versions of `tested` were tried. */
export const TESTED_ON = '2026-11-30';

/** The program of each agent. */
export const AGENT_PROGRAMS: Readonly<Record<ProgramId, AgentProgram>> = {
  codex: { title: 'Codex', file: 'bin/codex', tested: ['0.169.0', '0.171.0'] },
  claude: { title: 'Claude Code', file: 'claude', tested: ['2.1.330', '2.1.330'] },
  opencode: { title: 'opencode', file: 'opencode', tested: ['1.18.18', '1.18.33'] },
  gemini: { title: 'Gemini CLI', file: 'bundle/gemini.js', interpreter: NODE, tested: ['0.61.0', '0.61.0'] },
};

/** Versions of programs that are not those of halo's image, by agent. */
export type AgentVersions = Readonly<Partial<Record<ProgramId, string>>>;

/** The version of the program of an agent, by its name, if it is another one than that of halo's image. */
export function chosenVersion(versions: AgentVersions, agent: string): string | undefined {
  return isProgramId(agent) ? versions[agent] : undefined;
}

export const PROGRAM_IDS: readonly ProgramId[] = AGENT_IDS.filter((id) => id !== 'command');

/** Whether an agent has a program that halo installs. */
export function isProgramId(name: string): name is ProgramId {
  return Object.hasOwn(AGENT_PROGRAMS, name);
}

/** Where a version that is not that of halo's image is mounted in a sandbox. Nothing else is there. */
export const VERSION_DIR = '/halo/agent';

/** The folder of a program in a sandbox; `version`: another one than that of halo's image. */
export function programDir(id: ProgramId, version?: string): string {
  return version === undefined ? `/opt/halo/agents/${id}` : VERSION_DIR;
}

/** The absolute path of its file in a sandbox. */
export function programPath(id: ProgramId, version?: string): string {
  return `${programDir(id, version)}/${AGENT_PROGRAMS[id].file}`;
}

/** The shell command that starts it in a sandbox, without arguments. */
export function programCommand(id: ProgramId, version?: string): string {
  const { interpreter } = AGENT_PROGRAMS[id];
  return `${interpreter === undefined ? '' : `${interpreter} `}${programPath(id, version)}`;
}

/** How a version relates to those that were tested. */
export function judgeVersion(id: ProgramId, version: string): 'tested' | 'older' | 'newer' {
  const [oldest, newest] = AGENT_PROGRAMS[id].tested;
  if (compareVersions(version, oldest) < 0) return 'older';
  return compareVersions(version, newest) > 0 ? 'newer' : 'tested';
}

/** The tested versions, for a sentence: `0.169.0 to 0.171.0`. */
export function testedRange(id: ProgramId): string {
  const [oldest, newest] = AGENT_PROGRAMS[id].tested;
  return oldest === newest ? oldest : `${oldest} to ${newest}`;
}

/** Compares two versions `1.2.3`, which may have a suffix such as `-beta.1`: one with a suffix comes before the same without. */
export function compareVersions(a: string, b: string): number {
  const [[first, early], [second, other]] = [partsOf(a), partsOf(b)];
  const at = first.findIndex((number, index) => number !== second[index]);
  if (at >= 0) return (first[at] ?? 0) - (second[at] ?? 0);
  if (early === other) return 0;
  if (early === '' || other === '') return early === '' ? 1 : -1;
  return early < other ? -1 : 1;
}

function partsOf(version: string): [numbers: number[], suffix: string] {
  const [plain = '', ...suffix] = version.split('-');
  return [plain.split('.').map(Number), suffix.join('-')];
}

/** A version as npm knows it: exact, and safe as the tag of an image. */
export const EXACT_VERSION = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:-[0-9A-Za-z][0-9A-Za-z.-]{0,60})?$/;

/** The name of the image from which sandboxes get a version of a program. */
export function agentImage(id: ProgramId, version: string): string {
  return `halo-agent-${id}:${version}`;
}

/** The program and the version of such an image; undefined for other images. */
export function programOfImage(image: string): { id: ProgramId; version: string } | undefined {
  const [, id = '', version = ''] = /^halo-agent-([a-z]+):(.+)$/.exec(image) ?? [];
  return isProgramId(id) && EXACT_VERSION.test(version) ? { id, version } : undefined;
}
