import { grantOf, ROLES, type Grant } from '../../../src/core/access/access.ts';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import { formatTable } from '../http/api-reference.ts';

const HEAD = `# Access

Which role may run which operation of a [server](fleet.md#users). The [HTTP API](api.md) and the [MCP server](mcp.md) check it in the same place; \`halo\` on the machine of the server, without \`HALO_URL\`, is not restricted. This page is generated from the operations in \`src/api/operations/\`, and a test sends a request for each of its cells.

- \`yes\`: for all runs of the repositories of the user
- \`own\`: only for runs that the user has submitted
- \`all\`: only for users of all repositories, because the operation concerns all of them
- \`-\`: denied, with \`ACCESS_DENIED\` and status 403

For users with a list of repositories, runs of other repositories do not exist (\`RUN_NOT_FOUND\`), in lists and reports as well. They cannot submit other repositories, see circuit breakers of repositories, or close those of repositories and providers.

The settings of a submit have [rights of their own](configuration.md#what-a-request-may-set): who may not run \`land\` cannot land, weaken gates or open the network by a setting either. There, _may land_ is the row \`land\`, and _may answer_ the row \`answer\`.
`;

/** The text of docs/access.md. */
export function writeAccessPage(): string {
  const rows = ALL_OPERATIONS.map(({ name, access, everywhere = false }) => [
    `[\`${name}\`](api.md#${name.toLowerCase()})`,
    ...ROLES.map((role) => wordOf(grantOf(role, access), everywhere)),
  ]);
  return [HEAD, formatTable([['operation', ...ROLES], ...rows])].join('\n');
}

function wordOf(grant: Grant, everywhere: boolean): string {
  if (grant === 'none') return '-';
  if (grant === 'own') return 'own';
  return everywhere ? 'all' : 'yes';
}
