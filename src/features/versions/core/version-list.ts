import {
  agentImage,
  compareVersions,
  judgeVersion,
  PROGRAM_IDS,
  testedRange,
  TESTED_ON,
  type AgentVersions,
  type ProgramId,
} from '../../../core/agent-program.ts';

/** A version that is not part of halo's image. */
export interface InstalledProgram {
  version: string;
  bytes: number;
  /** Whether the settings of this machine choose it. */
  pinned: boolean;
  /** The ids of the runs that have not ended, and may start it. */
  usedBy: readonly string[];
}

/** The versions of the program of an agent on an engine. */
export interface ProgramVersions {
  agent: ProgramId;
  /** In halo's image; undefined: there is no such image. */
  image: string | undefined;
  /** Beside it, the newest first. */
  installed: readonly InstalledProgram[];
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
  installed: readonly { id: ProgramId; version: string; bytes: number }[];
  /** The images of versions that runs may start, by the ids of the runs that have not ended. */
  used: ReadonlyMap<string, readonly string[]>;
  pinned: AgentVersions;
  newest: Readonly<Record<ProgramId, ProgramVersions['newest']>>;
}

/** The versions of each program, side by side. */
export function listVersions({ ofImage, installed, used, pinned, newest }: Known): ProgramVersions[] {
  return PROGRAM_IDS.map((agent): ProgramVersions => {
    const image = ofImage[agent];
    const own = installed.flatMap(({ id, version, bytes }): InstalledProgram[] => {
      if (id !== agent) return [];
      const image = agentImage(id, version);
      const usedBy = [...used].flatMap(([run, images]) => (images.includes(image) ? [run] : []));
      return [{ version, bytes, pinned: pinned[id] === version, usedBy }];
    });
    const runs = pinned[agent] ?? image;
    return {
      agent,
      image,
      installed: own.toSorted((a, b) => compareVersions(b.version, a.version)),
      runs,
      pinned: pinned[agent] !== undefined,
      ready: runs !== undefined && (pinned[agent] === undefined || own.some(({ version }) => version === runs)),
      newest: newest[agent],
      tested: { range: testedRange(agent), on: TESTED_ON },
      judged: runs === undefined ? undefined : judgeVersion(agent, runs),
    };
  });
}
