import { resetCommand } from '../../core/failure/breaker.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { formatSize } from '../../lib/units.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import { openBreakerStore } from '../../store/breaker-files.ts';
import { SnapshotFiles } from '../../store/snapshot-files.ts';
import type { Finding } from './doctor-finding.ts';

/**
 * Reports how workspaces begin with snapshots on this engine, how many there are, are being made or failed, and breakers
 * that stop their use. Throws DOCKER_UNAVAILABLE.
 */
export async function checkSnapshots(engine: Pick<SandboxEngine, 'canOverlay'>, home: string): Promise<Finding> {
  const files = new SnapshotFiles(home);
  const stored = (await files.list()).map(({ record }) => record);
  const builds = await files.countBuilds();
  const breakers = (await openBreakerStore(home).list()).filter(({ key }) => key.startsWith('snapshot:'));
  const bytes = stored.reduce((sum, record) => sum + ('bytes' in record ? record.bytes : 0), 0);
  const ready = stored.filter((record) => 'volume' in record).length;
  const refused = stored.length - ready;
  const says = [
    (await engine.canOverlay())
      ? 'workspaces begin with an overlay'
      : 'the engine cannot mount overlay volumes, so each workspace begins with a copy',
    ready === 0 ? 'no snapshots yet' : `${ready} ${ready === 1 ? 'snapshot' : 'snapshots'}, ${formatSize(bytes)}`,
    ...(builds.running === 0 ? [] : [`${builds.running} being made`]),
    ...(builds.interrupted === 0 ? [] : [`${builds.interrupted} interrupted, which the next worker removes`]),
    ...(refused === 0 ? [] : [`${refused} refused, see \`halo snapshot ls\``]),
    ...breakers.map(
      ({ key, reason }) =>
        `not used for ${safeLine(key.slice('snapshot:'.length))}: ${safeLine(reason ?? 'its breaker is open')}`,
    ),
  ].join('; ');
  const [first] = breakers;
  if (first === undefined) return { name: 'snapshots', ok: 'ok', says };
  return { name: 'snapshots', ok: 'warn', says, fix: resetCommand(first.key) };
}
