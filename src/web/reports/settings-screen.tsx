import type { JSX } from 'preact';
import type { TokenView, UserView } from '../../api/access/users.ts';
import type { EndpointView } from '../../api/notify/endpoints.ts';
import { EmptyState, mayDo, Problem, TextTable, type Person } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { DoctorList } from './doctor-list.tsx';
import { SettingTable } from './setting-table.tsx';

/** Who is signed in and, for administrators, users, endpoints, the configuration and checks. Changes nothing. */
export function SettingsScreen({ person }: { person: Person }): JSX.Element {
  return (
    <>
      <h1>Settings</h1>
      <form class="line" method="post" action="/sign-out">
        <span>
          Signed in as <strong>{person.name}</strong>, {person.role}
        </span>
        <button type="submit">Sign out of this browser</button>
      </form>
      {mayDo(person, 'administer') ? (
        <>
          <UserTable />
          <EndpointTable />
          <SettingTable />
          <DoctorList />
        </>
      ) : (
        <p class="soft">
          Only administrators see users, notifications, the configuration and the checks of the server.
        </p>
      )}
    </>
  );
}

function UserTable(): JSX.Element {
  const { value, problem } = useLoaded('users', () => readJson<{ users: UserView[] }>('/v1/users'));
  return (
    <>
      <h2>Users</h2>
      {problem !== undefined && <Problem problem={problem} />}
      {value?.users.length === 0 && <EmptyState title="No users.">Add one with `halo user add`.</EmptyState>}
      {value !== undefined && value.users.length > 0 && (
        <TextTable name="Users and tokens" columns={['User', 'Role', 'Repositories', 'Tokens']}>
          {value.users.map(({ name, role, repositories, tokens }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{role}</td>
              <td>{repositories?.join(', ') ?? 'all'}</td>
              <td>
                {tokens.length === 0 && 'none'}
                <ul>
                  {tokens.map((token) => (
                    <li key={token.id}>
                      <code>{token.id}</code> {describeToken(token)}
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </TextTable>
      )}
    </>
  );
}

/** `session, created 2030-01-02 by owner, never used, expires 2030-04-02` */
function describeToken({ session, createdAt, createdBy, usedAt, expiresAt }: TokenView): string {
  const day = (at: string) => at.slice(0, 10);
  return [
    ...(session === undefined ? [] : ['session of a browser']),
    `created ${day(createdAt)} by ${createdBy}`,
    usedAt === undefined ? 'never used' : `used ${day(usedAt)}`,
    ...(expiresAt === undefined ? [] : [`expires ${day(expiresAt)}`]),
  ].join(', ');
}

function EndpointTable(): JSX.Element {
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
