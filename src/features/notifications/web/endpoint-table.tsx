import type { JSX } from 'preact';
import { EmptyState, Problem, TextTable } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded } from '../../../web/page/read-server.ts';
import type { EndpointView } from '../api/endpoint-schema.ts';

/** The endpoints of notifications, and what they have not received. */
export function EndpointTable(): JSX.Element {
  const { value, problem } = useLoaded('endpoints', () => readJson<{ endpoints: EndpointView[] }>('/v1/notifications'));
  return (
    <>
      <h2>Notifications</h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value?.endpoints.length === 0 && (
        <EmptyState title="No endpoints.">Add one to config.toml of HALO_HOME on the server.</EmptyState>
      )}
      {value !== undefined && value.endpoints.length > 0 && (
        <TextTable
          name="Endpoints of notifications"
          columns={['Endpoint', 'Type', 'Host', 'Events', 'Waiting', 'Given up']}
        >
          {value.endpoints.map(({ name, type, host, events, waiting, givenUp, why }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{type}</td>
              <td>{host ?? 'secret'}</td>
              <td>{events.join(', ')}</td>
              <td>
                {waiting}
                {why !== undefined && <p class="said warn">{why}</p>}
              </td>
              <td>{givenUp}</td>
            </tr>
          ))}
        </TextTable>
      )}
    </>
  );
}
