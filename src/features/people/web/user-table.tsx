import type { JSX } from 'preact';
import type { TokenView, UserView } from '../../../api/access/users.ts';
import { ClockTime } from '../../../web/page/clock-time.tsx';
import { EmptyState, Problem, TextTable } from '../../../web/page/page-parts.tsx';
import { readJson, useLoaded } from '../../../web/page/read-server.ts';

/** The users of the server, with their tokens. */
export function UserTable(): JSX.Element {
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
