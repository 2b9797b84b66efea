import { formatSize } from '../../lib/units.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import { SnapshotFiles } from '../../store/snapshot-files.ts';
import type { Finding } from './doctor-finding.ts';

/** Reports how workspaces begin with snapshots on this engine, and how many there are. Throws DOCKER_UNAVAILABLE. */
export async function checkSnapshots(engine: Pick<SandboxEngine, 'canOverlay'>, home: string): Promise<Finding> {
  const stored = (await new SnapshotFiles(home).list()).map(({ record }) => record);
  const bytes = stored.reduce((sum, record) => sum + ('bytes' in record ? record.bytes : 0), 0);
  const ready = stored.filter((record) => 'volume' in record).length;
  const count =
    ready === 0 ? 'no snapshots yet' : `${ready} ${ready === 1 ? 'snapshot' : 'snapshots'}, ${formatSize(bytes)}`;
  const refused = stored.length - ready;
  const rest = refused === 0 ? '' : `; ${refused} refused, see \`halo snapshot ls\``;
  if (await engine.canOverlay())
    return { name: 'snapshots', ok: 'ok', says: `workspaces begin with an overlay; ${count}${rest}` };
  const says = `the engine cannot mount overlay volumes, so each workspace begins with a copy; ${count}${rest}`;
  return { name: 'snapshots', ok: 'ok', says };
}
