import {
  compareVersions,
  judgeVersion,
  PROGRAM_IDS,
  testedRange,
  TESTED_ON,
  type AgentVersions,
  type ProgramId,
} from '../../../core/agent-program.ts';

/** The versions of the program of an agent on an engine. */
export interface ProgramVersions {
  agent: ProgramId;
  /** In halo's image; undefined: there is no such image. */
  image: string | undefined;
  /** Beside it, the newest first. */
  installed: readonly string[];
  /** What runs use unless they choose another one; undefined: they cannot start. */
  runs: string | undefined;
  /** Whether `runs` is chosen by the settings of this machine. */
  pinned: boolean;
  /** Whether sandboxes can start it. */
  ready: boolean;
  /** Of the npm registry; `why`: it could not be asked. */
  newest: { version: string } | { why: string };
  /** Versions that stories were made with, and the day of the newest. */
  tested: { range: string; on: string };
  judged: ReturnType<typeof judgeVersion> | undefined;
}

/** What is known of each program. */
interface Known {
  ofImage: AgentVersions;
  installed: readonly { id: ProgramId; version: string }[];
  pinned: AgentVersions;
  newest: Readonly<Record<ProgramId, ProgramVersions['newest']>>;
}

/** The versions of each program, side by side. */
export function listVersions({ ofImage, installed, pinned, newest }: Known): ProgramVersions[] {
  return PROGRAM_IDS.map((agent): ProgramVersions => {
    const image = ofImage[agent];
    const own = installed.filter(({ id }) => id === agent).map(({ version }) => version);
    const runs = pinned[agent] ?? image;
    return {
      agent,
      image,
      installed: [...new Set(own)].sort((a, b) => compareVersions(b, a)),
      runs,
      pinned: pinned[agent] !== undefined,
      ready: runs !== undefined && (pinned[agent] === undefined || own.includes(runs)),
      newest: newest[agent],
      tested: { range: testedRange(agent), on: TESTED_ON },
      judged: runs === undefined ? undefined : judgeVersion(agent, runs),
    };
  });
}
