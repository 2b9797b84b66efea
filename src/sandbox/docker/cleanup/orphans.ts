import type Docker from 'dockerode';
import { isOrphaned, MAX_FOREIGN_CHECK_MS, processMark } from '../../../lib/process-identity.ts';
import { PROCESS_OWNED, type LabelledResource } from '../../sandbox.ts';
import { LABEL } from '../container-spec.ts';
import { listByLabel } from './labelled-resources.ts';

/** The process that a sandbox or volume belongs to. */
const PROCESS_LABEL = `${LABEL}.process`;

/** Label of every sandbox and volume, except those of snapshots: identifies those whose process has died. */
export const processLabel = (): Record<string, string> => ({ [PROCESS_LABEL]: processMark() });

/** What belongs to a process and not to a run: probes and other one-off sandboxes; checks. */
const OWNED = [
  { label: `${LABEL}.run=probe`, maxAgeMs: undefined },
  { label: `${LABEL}.home=${PROCESS_OWNED}`, maxAgeMs: MAX_FOREIGN_CHECK_MS },
];

/** Lists containers and volumes of probes and checks whose process has died; containers first. */
export async function listOrphans(docker: Docker): Promise<Pick<LabelledResource, 'kind' | 'name'>[]> {
  const listed = await Promise.all(
    OWNED.map(async ({ label, maxAgeMs }) =>
      (await listByLabel(docker, label)).filter(({ labels, madeMs }) =>
        isOrphaned(labels[PROCESS_LABEL] ?? '', madeMs, maxAgeMs),
      ),
    ),
  );
  const dead = listed.flat();
  const ofKind = (wanted: LabelledResource['kind']) =>
    dead.flatMap(({ kind, name }) => (kind === wanted ? [{ kind, name }] : []));
  return [...ofKind('container'), ...ofKind('volume')];
}
