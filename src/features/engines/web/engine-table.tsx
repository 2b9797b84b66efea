import type { JSX } from 'preact';
import type { ResultOf } from '../../../api/operations.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { Problem, TextTable } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded } from '../../../web/page/read-server.ts';
import { judgeEnd } from '../core/connection-faults.ts';

/** The engines of config.toml with the ends of their certificates; nothing without engines. */
export function EngineTable(): JSX.Element | null {
  const { value, problem } = useLoaded('engines', () => readJson<ResultOf<'listEngines'>>('/v1/engines'));
  if (problem === undefined && (value?.engines.length ?? 0) === 0) return null;
  return (
    <>
      <h2>Engines</h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value !== undefined && (
        <TextTable name="Engines" columns={['Engine', 'Address', 'Slots', 'Workers', 'Certificate']}>
          {value.engines.map(({ name, address, slots, workers, certificateEnds }) => (
            <tr key={name}>
              <th scope="row">{safeLine(name)}</th>
              <td>{safeLine(address)}</td>
              <td>{slots}</td>
              <td>{workers.length === 0 ? <span class="warn">none</span> : workers.length}</td>
              <td>
                <End at={certificateEnds} />
              </td>
            </tr>
          ))}
        </TextTable>
      )}
      {value?.keysEnd !== undefined && (
        <p>
          The keys of this server: <End at={value.keysEnd} />
        </p>
      )}
    </>
  );
}

function End({ at }: { at: string | undefined }): JSX.Element {
  if (at === undefined) return <>-</>;
  const { isSoon, says } = judgeEnd(new Date(at), new Date());
  return <span class={isSoon ? 'warn' : ''}>{says}</span>;
}
