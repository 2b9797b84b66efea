import type { AgentAnswer, Usage } from '../../core/agent.ts';
import type { CriterionClaim } from '../../core/review/criteria.ts';
import type { Proof } from '../../core/review/proof.ts';
import type { LockedTests } from '../../core/review/tests-first.ts';
import type { HiddenPlaces } from '../../core/text/hidden-places.ts';
import type { FileChange } from '../../git/import/import-tree.ts';
import type { Suspect } from '../../git/import/scan-secrets.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Baseline } from './baseline.ts';
import type { Attempt } from './open-attempt.ts';

/** The commit that the gates check and that lands if they pass. */
export interface Candidate {
  commit: string;
  /** Its only parent. */
  parent: string;
  tree: string;
  changed: FileChange[];
  suspects: Suspect[];
  /** Hidden characters that it adds to text files. */
  hidden: HiddenPlaces | undefined;
}

/** Where a candidate comes from. */
export interface WorkOrigin {
  /** The commit that the agent started from. */
  startedFrom: string;
  /** When its attempt started. ISO 8601 */
  startedAt: string;
  /** What an agent used in this attempt. */
  usage: Usage;
  /** The approval: approver, approved paths, and usage of the agent that made the change. */
  approval?: { by: string; paths: ReadonlySet<string>; used: Proof['usage'] | undefined };
}

/** A candidate on its way from import to landing. */
export interface Work {
  candidate: Candidate;
  origin: WorkOrigin;
  /** The agent's summary. */
  summary: string;
  /** How often it was merged and gated again because another story landed first. */
  merges: number;
  /** The folder of its gate logs among the artifacts. */
  gatesFolder: string;
  /** Which criteria the agent claims to have met, until they are reported. */
  claims?: readonly CriterionClaim[] | undefined;
  /** The tests that its gates begin with. */
  locked?: LockedTests | undefined;
  /** A clean workspace that was started in advance. */
  clean?: Workspace;
  /** A baseline on its parent that was started in advance. */
  baseline?: Baseline;
}

/** Work as the agent left it: without a candidate if it changed nothing. */
export type ImplementedWork = Omit<Work, 'candidate'> & { candidate: Candidate | undefined };

interface NewWork extends Pick<ImplementedWork, 'candidate' | 'clean' | 'baseline'> {
  answer: AgentAnswer;
  /** What the agents of the attempt used. */
  usage: Usage;
}

/** The result of an agent that started from the base of its attempt. */
export function newWork(
  { inputs, locked }: Attempt,
  { answer: { summary, criteria: claims }, usage, ...made }: NewWork,
): ImplementedWork {
  const origin = { startedFrom: inputs.base, startedAt: inputs.startedAt, usage };
  return { ...made, summary, claims, locked, origin, gatesFolder: 'gates', merges: 0 };
}

export function hasChanges(work: ImplementedWork): work is Work {
  return work.candidate !== undefined;
}
