import { ageText } from '../../../view/ages.ts';
import { InvalidArgumentError } from 'commander';
import type { CreatedToken, UserView } from '../../../api/access/users.ts';
import type { AccessEvent } from '../../../core/access/access-event.ts';
import { ROLES, type Role } from '../../../core/access/access.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { closeSentence } from '../../../core/text/did-you-mean.ts';
import { parseDuration } from '../../../lib/units.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { parseLimit, parseSince, SINCE } from '../../../cli/options/filter-runs.ts';
import { collect } from '../../../cli/options/run-options.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

const AS_JSON = 'print the result as JSON';
const MAX_EVENTS = 100;
const EXPIRES = 'when the token stops working, e.g. 90d (default: never)';

export const define: Define = (command, cli) => {
  command.description('Adds, changes and removes the users of a server, and their tokens.').addHelpText('after', HELP);
  command
    .command('add')
    .summary('add a user with a token')
    .addHelpText('after', ADD_HELP)
    .description('Adds a user and prints a token for them, which is not shown again.')
    .argument('<name>', 'the name in journals')
    .requiredOption('--role <role>', ROLES.join(', '), parseRole)
    .option('--repo <pattern>', 'a repository of the user, `*` for any text (repeatable; default: all)', collect)
    .option('--expires <duration>', EXPIRES, parseExpiry)
    .option('--again', 'the same person as a removed user of this name, whose runs the user gets')
    .option('--json', AS_JSON)
    .action((name: string, flags: AddFlags) => add(name, flags, cli));
  command
    .command('ls')
    .summary('list users and tokens')
    .addHelpText('after', LIST_HELP)
    .description('Lists users with roles, repositories, and the ids, expiry and last use of their tokens.')
    .option('--json', AS_JSON)
    .action((flags: Flags) => list(flags, cli));
  command
    .command('set')
    .summary('change role or repositories')
    .addHelpText('after', SET_HELP)
    .description('Changes role or repositories of a user, from the next request on.')
    .argument('<name>', 'the user')
    .option('--role <role>', ROLES.join(', '), parseRole)
    .option('--repo <pattern>', 'a repository of the user, replacing the others (repeatable)', collect)
    .option('--all-repos', 'remove the list of repositories')
    .option('--json', AS_JSON)
    .action((name: string, flags: SetFlags) => change(name, flags, cli));
  command
    .command('token')
    .summary('create another token')
    .addHelpText('after', TOKEN_HELP)
    .description('Creates another token of a user and prints it; it is not shown again.')
    .argument('<name>', 'the user')
    .option('--expires <duration>', EXPIRES, parseExpiry)
    .option('--json', AS_JSON)
    .action((name: string, flags: TokenFlags) => createToken(name, flags, cli));
  command
    .command('revoke')
    .summary('revoke a token')
    .addHelpText('after', REVOKE_HELP)
    .description('Revokes a token. It stops working immediately.')
    .argument('<id>', 'the id of the token, as `halo user ls` prints it')
    .option('--json', AS_JSON)
    .action((id: string, flags: Flags) => revoke(id, flags, cli));
  command
    .command('rm')
    .summary('remove a user')
    .addHelpText('after', REMOVE_HELP)
    .description('Removes a user. All of their tokens stop working immediately; their runs stay.')
    .argument('<name>', 'the user')
    .option('--json', AS_JSON)
    .action((name: string, flags: Flags) => remove(name, flags, cli));
  command
    .command('log')
    .summary('show sign-ins, denials and changes')
    .addHelpText('after', LOG_HELP)
    .description('Shows changes of users and tokens, sign-ins, refused tokens and denied operations, the latest last.')
    .option('--since <time>', `only what happened after ${SINCE}`)
    .option('--limit <n>', `at most so many events, the latest (default: ${MAX_EVENTS})`, parseLimit)
    .option('--json', AS_JSON)
    .action((flags: LogFlags) => showLog(flags, cli));
};

const HELP = `
Examples:
  halo user add ada --role submitter --expires 90d
  halo user ls
  halo user revoke 4k8m2c0x

See also: halo serve, halo up, halo audit`;

const ADD_HELP = `
Examples:
  halo user add ada --role submitter
  halo user add ben --role operator --expires 90d
  halo user add cleo --role viewer --repo 'https://git.example.com/shop/*' --repo /srv/repos/site

Roles:
  viewer     reads everything
  submitter  also submits runs, and controls its own
  operator   also controls all runs, approves, rejects and lands
  admin      also removes old runs, and manages users

See also: halo user token, halo user set`;

const LIST_HELP = `
Examples:
  halo user ls
  halo user ls --json | jq -r '.[] | select(.tokens == []).name'

See also: halo user add, halo user log`;

const SET_HELP = `
Examples:
  halo user set ada --role operator
  halo user set cleo --repo /srv/repos/site
  halo user set cleo --all-repos

See also: halo user add, halo user ls`;

const TOKEN_HELP = `
Examples:
  halo user token ada --expires 30d
  halo user token ci --expires 1d > token

See also: halo user revoke, halo user ls`;

const REVOKE_HELP = `
Examples:
  halo user revoke 4k8m2c0x

See also: halo user ls, halo user rm`;

const REMOVE_HELP = `
Examples:
  halo user rm ada

See also: halo user revoke, halo user ls`;

const LOG_HELP = `
Examples:
  halo user log --since 1d
  halo user log --json | jq -r '.[] | select(.type == "operation.denied").user'

See also: halo audit, halo user ls`;

interface Flags {
  json?: true;
}

interface LogFlags extends Flags {
  since?: string;
  limit?: number;
}

interface TokenFlags extends Flags {
  expires?: number;
}

interface AddFlags extends TokenFlags {
  again?: true;
  role: Role;
  repo?: string[];
}

interface SetFlags extends Flags {
  role?: Role;
  repo?: string[];
  allRepos?: true;
}

function parseRole(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (role === undefined)
    throw new InvalidArgumentError(`It must be one of ${ROLES.join(', ')}${closeSentence(text, ROLES)}`);
  return role;
}

function parseExpiry(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('It must be a duration such as 12h or 90d.');
  return ms;
}

function expiryOf({ expires }: TokenFlags): string | undefined {
  return expires === undefined ? undefined : new Date(Date.now() + expires).toISOString();
}

async function add(name: string, flags: AddFlags, cli: Cli): Promise<void> {
  const { role, repo: repositories, again, json } = flags;
  const { user, token } = await cli.withOperations(async (operations) => {
    const user = await operations.addUser({
      name,
      role,
      ...(repositories && { repositories }),
      ...(again && { again }),
    });
    return { user, token: await operations.createToken({ name, expiresAt: expiryOf(flags) }) };
  });
  if (json) return cli.printJson({ user, token });
  await cli.note(`${cli.paintErr('good', 'added')}  ${safeLine(name)}, ${role}`);
  await printToken(token, cli);
}

/** Only the token is on stdout, so that it can be piped to where it is needed. */
async function printToken({ user, token, expiresAt }: CreatedToken, cli: Cli): Promise<void> {
  await cli.print(token);
  const until = expiresAt === undefined ? 'does not expire' : `expires at ${expiresAt}`;
  await cli.note(`The token ${until}. It is not shown again: give it to ${safeLine(user)}, who sets it as HALO_TOKEN.`);
}

async function list({ json }: Flags, cli: Cli): Promise<void> {
  const { users } = await cli.withOperations((operations) => operations.listUsers());
  if (json) return cli.printJson(users);
  if (users.length === 0) return cli.note('There are no users: only the token of the server is accepted.');
  const layout = { paint: cli.paint, width: terminalColumns(cli) };
  await cli.print(...table(userRows(users, new Date().toISOString()), layout));
}

async function change(name: string, { role, repo, allRepos, json }: SetFlags, cli: Cli): Promise<void> {
  if (role === undefined && repo === undefined && allRepos === undefined)
    throw new HaloError('USAGE', 'halo user set changes nothing without an option.', {
      hint: 'Pass --role, --repo or --all-repos.',
    });
  if (repo !== undefined && allRepos === true)
    throw new HaloError('USAGE', '--repo and --all-repos exclude each other.', { hint: 'Pass one of them.' });
  const repositories = allRepos === true ? null : repo;
  const changed = await cli.withOperations((operations) =>
    operations.changeUser({ name, ...(role && { role }), ...(repositories !== undefined && { repositories }) }),
  );
  if (json) return cli.printJson(changed);
  const places = changed.repositories === undefined ? 'all repositories' : changed.repositories.join(' ');
  await cli.print(`${cli.paint('good', 'changed')}  ${safeLine(name)}, ${changed.role}, ${safeLine(places)}`);
}

async function createToken(name: string, flags: TokenFlags, cli: Cli): Promise<void> {
  const created = await cli.withOperations((operations) =>
    operations.createToken({ name, expiresAt: expiryOf(flags) }),
  );
  if (flags.json) return cli.printJson(created);
  await printToken(created, cli);
}

async function revoke(id: string, { json }: Flags, cli: Cli): Promise<void> {
  const revoked = await cli.withOperations((operations) => operations.revokeToken({ id }));
  if (json) return cli.printJson(revoked);
  await cli.print(`${cli.paint('good', 'revoked')}  ${revoked.id}, a token of ${safeLine(revoked.user)}`);
}

async function remove(name: string, { json }: Flags, cli: Cli): Promise<void> {
  const removed = await cli.withOperations((operations) => operations.removeUser({ name }));
  if (json) return cli.printJson(removed);
  await cli.print(`${cli.paint('good', 'removed')}  ${safeLine(name)}`);
}

async function showLog({ since, limit = MAX_EVENTS, json }: LogFlags, cli: Cli): Promise<void> {
  const from = since === undefined ? undefined : parseSince(since, new Date());
  const { events } = await cli.withOperations((operations) => operations.readAccessLog({ since: from, limit }));
  if (json) return cli.printJson(events);
  if (events.length === 0) return cli.note('Nothing is recorded.');
  const layout = { paint: cli.paint, width: terminalColumns(cli) };
  await cli.print(...table(accessRows(events), layout));
  if (events.length === limit) await cli.note(`Only the latest ${limit} events are shown; --limit shows more.`);
}

const USER_HEADING = ['USER', 'ROLE', 'REPOSITORIES', 'TOKEN', 'EXPIRES', 'LAST USE'];
const ACCESS_HEADING = ['TIME (UTC)', 'EVENT', 'USER', 'DETAIL'];

/** The table of users, with a row for each token. `now`: ISO 8601. */
function userRows(users: readonly UserView[], now: string): Cell[][] {
  return [USER_HEADING.map((text) => ({ text })), ...users.flatMap((user) => rowsOf(user, now))];
}

/** The table of the access log, the latest event last. */
function accessRows(events: readonly AccessEvent[]): Cell[][] {
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
    { text: usedAt === undefined ? 'never' : ageText(usedAt, now) },
  ]);
}

function detailOf({ token, worker, by, operation, from, reason, count }: AccessEvent): string {
  const more = count === undefined ? undefined : `${count} more within a minute`;
  const parts = [more, operation, token && `token ${token}`, worker, reason, from && `from ${from}`, by && `by ${by}`];
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}
