import type Docker from 'dockerode';
import { isGone, markProcess } from '../../lib/process-life.ts';
import { discardBelonging } from './belongings.ts';
import { LABEL } from './container-spec.ts';
import { fromDocker } from './docker-errors.ts';

/** Which process waits for a sandbox. */
const PROCESS_LABEL = `${LABEL}.process`;

/** Nobody waits for an answer that long. */
const LONGEST_MS = 3_600_000;

/** On every sandbox, for those that belong to no run. */
export const processLabel = (): Record<string, string> => ({ [PROCESS_LABEL]: markProcess() });

/** Removes throwaway sandboxes (sandbox/throwaway.ts) whose process died before it could. */
export async function discardThrowaways(docker: Docker): Promise<void> {
  const found = await docker
    .listContainers({ all: true, filters: { label: [`${LABEL}.run=probe`] } })
    .catch((error: unknown) => {
      throw fromDocker(error, 'list what probes left');
    });
  for (const { Id, Labels, Created } of found) {
    const gone = isGone(Labels[PROCESS_LABEL] ?? '') ?? Date.now() - Created * 1000 > LONGEST_MS;
    if (gone) await discardBelonging(docker, { kind: 'container', name: Id });
  }
}
