import type { JSX } from 'preact';
import type { WorkerView } from '../../api/operations/requests.ts';
import { EmptyState, Elapsed, ShareBar, TextTable } from '../page/page-parts.tsx';

/** Says why no story runs. */
export function NoWorker(): JSX.Element {
  return (
    <EmptyState title="No worker is running.">
      Queued stories wait. Start a worker with <code>halo worker</code>.
    </EmptyState>
  );
}

/** The workers with what they do. */
export function WorkerList({ workers, now }: { workers: readonly WorkerView[]; now: string }): JSX.Element {
  if (workers.length === 0) return <NoWorker />;
  return (
    <TextTable name="Workers" columns={['Host', 'Takes', 'Stories', 'Version', 'Up for', 'Last contact']}>
      {workers.map(({ id, host, pid, since, takes, version, slots, busy, seen }) => (
        <tr key={id}>
          <th scope="row">
            <strong>{host}</strong> <span class="soft">process {pid}</span>
          </th>
          <td>{takes === 'own' ? 'its own runs' : 'any run'}</td>
          <td>
            {slots === undefined ? (
              <span class="soft">not known to the queue</span>
            ) : slots === 0 ? (
              <span class="warn">shuts down, {busy ?? 0} running</span>
            ) : (
              <>
                {busy ?? 0} of {slots} {slots === 1 ? 'slot' : 'slots'} busy
                <ShareBar share={(busy ?? 0) / slots} />
              </>
            )}
          </td>
          <td>{version ?? '-'}</td>
          <td>{since === undefined ? '-' : <Elapsed from={since} now={now} />}</td>
          <td>
            {seen === undefined ? (
              '-'
            ) : (
              <>
                <Elapsed from={seen} now={now} /> ago
              </>
            )}
          </td>
        </tr>
      ))}
    </TextTable>
  );
}
