import type { JSX } from 'preact';
import type { TokenView, UserView } from '../../api/access/users.ts';
import { ClockTime } from '../page/clock-time.tsx';
import { EmptyState, mayDo, Problem, TextTable, type Person } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';
import { EndpointTable } from '../../features/notifications/web/endpoint-table.tsx';
import { DoctorList } from './doctor-list.tsx';
import { SettingTable } from './setting-table.tsx';

/** Who is signed in and, for administrators, users, endpoints, the configuration and checks. Changes nothing. */
export function SettingsScreen({ person }: { person: Person }): JSX.Element {
  return (
    <>
      <h1>Settings</h1>
      <p>
        Signed in as <strong>{person.name}</strong>, {person.role}
      </p>
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
                <TokenList tokens={tokens} />
              </td>
            </tr>
          ))}
        </TextTable>
      )}
    </>
  );
}

/** Tokens that a person copied, and the number of sessions, of which each sign-in adds one. */
function TokenList({ tokens }: { tokens: readonly TokenView[] }): JSX.Element {
  const sessions = tokens.filter(({ session }) => session !== undefined).length;
  if (tokens.length === 0) return <>none</>;
  return (
    <ul>
      {tokens
        .filter(({ session }) => session === undefined)
        .map((token) => (
          <li key={token.id}>
            <TokenFacts token={token} />
          </li>
        ))}
      {sessions > 0 && (
        <li>
          {sessions} {sessions === 1 ? 'session' : 'sessions'} of browsers
        </li>
      )}
    </ul>
  );
}

/** `created 2 Jan 2030, 09:12:00 by owner, never used, expires 2 Apr 2030, 09:12:00` */
function TokenFacts({ token }: { token: TokenView }): JSX.Element {
  const { id, createdAt, createdBy, usedAt, expiresAt } = token;
  return (
    <>
      <code>{id}</code> created <ClockTime at={createdAt} date /> by {createdBy},{' '}
      {usedAt === undefined ? (
        'never used'
      ) : (
        <>
          used <ClockTime at={usedAt} date />
        </>
      )}
      {expiresAt !== undefined && (
        <>
          , expires <ClockTime at={expiresAt} date />
        </>
      )}
    </>
  );
}
