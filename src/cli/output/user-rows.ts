import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { UserView } from '../../api/access/users.ts';
import type { AccessEvent } from '../../core/access/access-event.ts';
import type { Cell } from './table.ts';

const USER_HEADING = ['USER', 'ROLE', 'REPOSITORIES', 'TOKEN', 'EXPIRES', 'LAST USE'];
const ACCESS_HEADING = ['TIME (UTC)', 'EVENT', 'USER', 'DETAIL'];

/** The table of users, with a row for each token. `now`: ISO 8601. */
export function userRows(users: readonly UserView[], now: string): Cell[][] {
  return [USER_HEADING.map((text) => ({ text })), ...users.flatMap((user) => rowsOf(user, now))];
}

/** The table of the access log, the latest event last. */
export function accessRows(events: readonly AccessEvent[]): Cell[][] {
  const rows = events
    .toReversed()
    .map((event): Cell[] => [
      { text: event.at.slice(0, 19).replace('T', ' ') },
      { text: event.type, tone: event.type.endsWith('refused') || event.type.endsWith('denied') ? 'warn' : 'plain' },
      { text: safeLine(event.user ?? '-') },
      { text: safeLine(detailOf(event)) },
    ]);
  return [ACCESS_HEADING.map((text) => ({ text })), ...rows];
}

/** The user is named in the first row. */
function rowsOf({ name, role, repositories, tokens }: UserView, now: string): Cell[][] {
  const facts: Cell[] = [
    { text: safeLine(name), tone: 'strong' },
    { text: role },
    { text: repositories === undefined ? 'all' : safeLine(repositories.join(' ')) },
  ];
  if (tokens.length === 0) return [[...facts, { text: 'none', tone: 'warn' }, { text: '-' }, { text: '-' }]];
  return tokens.map(({ id, expiresAt, usedAt, session }, index) => [
    ...(index === 0 ? facts : facts.map(() => ({ text: '' }))),
    { text: session === undefined ? id : `${id} (browser)` },
    expiresAt !== undefined && !(Date.parse(expiresAt) > Date.parse(now))
      ? { text: 'expired', tone: 'warn' }
      : { text: expiresAt?.slice(0, 10) ?? 'never' },
    { text: usedAt === undefined ? 'never' : `${formatElapsed(msBetween(usedAt, now))} ago` },
  ]);
}

function detailOf({ token, worker, by, operation, from, reason, count }: AccessEvent): string {
  const more = count === undefined ? undefined : `${count} more within a minute`;
  const parts = [more, operation, token && `token ${token}`, worker, reason, from && `from ${from}`, by && `by ${by}`];
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}
