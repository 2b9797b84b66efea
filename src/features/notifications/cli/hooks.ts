import type { ResultOf } from '../../../api/operations.ts';
import type { EndpointView } from '../api/endpoint-schema.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

const AS_JSON = 'print the result as JSON';
const MAX_DELIVERIES = 50;

export const define: Define = (command, cli) => {
  command
    .description(
      'Lists and tests the endpoints of notifications, which `[notify]` in config.toml of HALO_HOME defines.',
    )
    .addHelpText('after', HELP);
  command
    .command('ls')
    .summary('list endpoints')
    .addHelpText('after', LIST_HELP)
    .description('Lists the endpoints with their events, and what they have not received.')
    .option('--json', AS_JSON)
    .action((flags: Flags) => list(flags, cli));
  command
    .command('test')
    .summary('send a test message')
    .addHelpText('after', TEST_HELP)
    .description('Sends a test message to an endpoint, with the secrets of this machine.')
    .argument('<name>', 'the name of the endpoint')
    .option('--json', AS_JSON)
    .action((name: string, flags: Flags) => test(name, flags, cli));
  command
    .command('log')
    .summary('show the latest deliveries')
    .addHelpText('after', LOG_HELP)
    .description('Shows the latest 50 deliveries, the latest last, and why others failed.')
    .option('--json', AS_JSON)
    .action((flags: Flags) => showLog(flags, cli));
  command
    .command('retry')
    .summary('send again what an endpoint has not received')
    .addHelpText('after', RETRY_HELP)
    .description('Lets workers send everything again that an endpoint has not received, also what halo has given up.')
    .argument('<name>', 'the name of the endpoint')
    .option('--json', AS_JSON)
    .action((name: string, flags: Flags) => retry(name, flags, cli));
};

const HELP = `
Examples:
  halo hooks ls
  halo hooks test team
  halo hooks log

See also: halo inbox, halo up, halo worker`;

const LIST_HELP = `
Examples:
  halo hooks ls
  halo hooks ls --json | jq -r '.[] | select(.givenUp > 0).name'

See also: halo hooks test, halo hooks log`;

const TEST_HELP = `
Examples:
  halo hooks test team

Exit codes:
  0 the endpoint accepted the message    2 it did not, or there is no such endpoint

See also: halo hooks ls, halo hooks log`;

const LOG_HELP = `
Examples:
  halo hooks log
  halo hooks log --json | jq -r '.[] | select(.result != "delivered").why'

See also: halo hooks ls, halo hooks retry`;

const RETRY_HELP = `
Examples:
  halo hooks retry team

See also: halo hooks ls, halo hooks log`;

interface Flags {
  json?: true;
}

async function list({ json }: Flags, cli: Cli): Promise<void> {
  const { endpoints } = await cli.withOperations((operations) => operations.listEndpoints());
  if (json) return cli.printJson(endpoints);
  if (endpoints.length === 0)
    return cli.note('There are no endpoints: add [notify.<name>] to config.toml of HALO_HOME.');
  await cli.print(...table([ENDPOINT_HEADING, ...endpoints.map(endpointRow)], layoutOf(cli)));
}

const ENDPOINT_HEADING = ['ENDPOINT', 'TYPE', 'HOST', 'EVENTS', 'WAITING', 'GIVEN UP', 'LAST FAILURE'].map((text) => ({
  text,
}));

function endpointRow({ name, type, host, events, waiting, givenUp, why }: EndpointView): Cell[] {
  return [
    { text: name, tone: 'strong' },
    { text: type },
    { text: safeLine(host ?? 'secret') },
    { text: events.join(' ') },
    { text: String(waiting) },
    { text: String(givenUp), tone: givenUp > 0 ? 'warn' : 'plain' },
    { text: safeLine(why ?? '-') },
  ];
}

async function test(name: string, { json }: Flags, cli: Cli): Promise<void> {
  const result = await cli.withOperations((operations) => operations.testEndpoint({ name }));
  if (json) return cli.printJson(result);
  await cli.print(`${cli.paint('good', 'delivered')}  to ${name}`);
}

async function showLog({ json }: Flags, cli: Cli): Promise<void> {
  const { deliveries } = await cli.withOperations((operations) => operations.listDeliveries({ limit: MAX_DELIVERIES }));
  if (json) return cli.printJson(deliveries);
  if (deliveries.length === 0) return cli.note('Nothing was sent yet.');
  await cli.print(...table([DELIVERY_HEADING, ...deliveries.toReversed().map(deliveryRow)], layoutOf(cli)));
}

const DELIVERY_HEADING = ['TIME (UTC)', 'ENDPOINT', 'RESULT', 'RUN', 'EVENT', 'DETAIL'].map((text) => ({ text }));

function deliveryRow({
  at,
  endpoint,
  ids,
  type,
  run,
  result,
  why,
}: ResultOf<'listDeliveries'>['deliveries'][number]): Cell[] {
  const more = ids.length > 1 ? `and ${ids.length - 1} more` : '';
  return [
    { text: at.slice(0, 19).replace('T', ' ') },
    { text: endpoint },
    { text: result, tone: result === 'delivered' ? 'good' : 'warn' },
    { text: safeLine(run ?? '-') },
    { text: safeLine(type) },
    { text: safeLine([more, why ?? ''].filter((part) => part !== '').join('; ')) },
  ];
}

async function retry(name: string, { json }: Flags, cli: Cli): Promise<void> {
  const { notifications } = await cli.withOperations((operations) => operations.retryEndpoint({ name }));
  if (json) return cli.printJson({ notifications });
  if (notifications === 0) return cli.note(`${name} has received everything.`);
  await cli.print(`${cli.paint('good', 'queued')}  ${notifications} for ${name}`);
}

function layoutOf(cli: Cli) {
  return { paint: cli.paint, width: terminalColumns(cli) };
}
