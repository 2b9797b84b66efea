import type { Findings } from './findings.ts';

/** Most stories of a PRD, in any dialect. */
const MOST_STORIES = 5000;

/** Whether there are more stories than are read, which is a problem of the whole file. */
export function isTooMany(count: number, findings: Findings): boolean {
  if (count <= MOST_STORIES) return false;
  const rule = `${count} stories; at most ${MOST_STORIES} are read; split it into several PRDs`;
  findings.problems.push({ where: '', offset: 0, rule });
  return true;
}
