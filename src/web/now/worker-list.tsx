import { msBetween } from '../../core/text/format-elapsed.ts';
import { formatAge } from '../../view/ages.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WorkerView } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { countTakers, hasNothingRunning } from '../../core/run/fleet-limit.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { Age } from '../page/clock-time.tsx';
import { ActionButton, EmptyState, mayDo, ShareBar, TextTable, type Person } from '../page/page-parts.tsx';
import { closedText } from '../../view/run-words.ts';
import { canContinue, missingWorker } from '../../view/waiting.ts';

interface MissingWorkerProps {
  runs: readonly ListedRun[];
  workers: readonly WorkerView[];
}

/** Says once for all runs that no worker takes their stories. */
export function MissingWorker({ runs, workers }: MissingWorkerProps): JSX.Element | null {
  const open = runs.filter(canContinue).map((run) => ({
    state: run,
    ...(run.engines && { engines: run.engines }),
    ...countTakers(run, workers),
    waits: hasNothingRunning(run),
  }));
  const missing = open.filter((takers) => takers.workers === 0);
  const texts = new Set(
    missing.flatMap(
      (view) => ((view.state.engines ?? view.away) === undefined ? undefined : missingWorker(view)) ?? [],
    ),
  );
  if (texts.size > 0)
    return (
      <EmptyState title="Stories wait for an engine.">
        {[...texts].map((text) => (
          <p key={text}>{text}</p>
        ))}
      </EmptyState>
    );
  if (missing.some(({ draining }) => draining === 0))
    return (
      <EmptyState title="No worker is running.">
        Queued stories wait. Start a worker with <code>halo worker</code>.
      </EmptyState>
    );
  if (!missing.some(({ waits }) => waits)) return null;
  return (
    <EmptyState title="All workers are draining.">
      Queued stories wait. Resume a worker below, or start another one with <code>halo worker</code>.
    </EmptyState>
  );
}

interface WorkerListProps {
  workers: readonly WorkerView[];
  now: string;
  person: Person;
  /** Called when a worker was drained or resumed. */
  onChange: () => void;
}

/** The workers with what they do. */
export function WorkerList({ workers, now, person, onChange }: WorkerListProps): JSX.Element {
  const [said, setSaid] = useState('');
  if (workers.length === 0)
    return (
      <p class="soft">
        None. Start one with <code>halo worker</code>.
      </p>
    );
  const mayDrain = mayDo(person, 'operate') && !person.isRestricted;
  const columns = [
    'Host',
    'Engine',
    'Takes',
    'Stories',
    'Version',
    'Up for',
    'Last contact',
    ...(mayDrain ? ['Action'] : []),
  ];
  return (
    <>
      <TextTable name="Workers" columns={columns}>
        {workers.map(({ id, host, engine, pid, since, takes, version, slots, busy, seen, draining, away = false }) => (
          <tr key={id}>
            <th scope="row">
              <strong>{safeLine(host)}</strong> <span class="soft">process {pid}</span>
            </th>
            <td>{engine === undefined ? '-' : safeLine(engine)}</td>
            <td>{takes === 'own' ? 'its own runs' : 'any run'}</td>
            <td>
              {draining || away ? (
                <span class="warn">{closedText({ busy, draining, away })}</span>
              ) : slots === undefined ? (
                <span class="soft">not known to the queue</span>
              ) : (
                <>
                  {busy ?? 0} of {slots} {slots === 1 ? 'slot' : 'slots'} busy
                  <ShareBar share={(busy ?? 0) / slots} />
                </>
              )}
            </td>
            <td>{version === undefined ? '-' : safeLine(version)}</td>
            <td>{since === undefined ? '-' : formatAge(msBetween(since, now))}</td>
            <td>{seen === undefined ? '-' : <Age at={seen} now={now} />}</td>
            {mayDrain && (
              <td>
                {takes === 'any' && (
                  <ActionButton
                    label={draining ? 'Resume' : 'Drain'}
                    doing={draining ? 'Resuming' : 'Draining'}
                    path={`/v1/workers/${encodeURIComponent(id)}/${draining ? 'resume' : 'drain'}`}
                    name={`${draining ? 'Resume' : 'Drain'} ${safeLine(host)} process ${pid}`}
                    onDone={() => {
                      setSaid(
                        `${safeLine(host)} process ${pid} ${draining ? 'takes stories again' : 'takes no more stories'}.`,
                      );
                      onChange();
                    }}
                  />
                )}
              </td>
            )}
          </tr>
        ))}
      </TextTable>
      <p class="hidden" role="status">
        {said}
      </p>
    </>
  );
}
