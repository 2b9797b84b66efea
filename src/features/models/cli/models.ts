import type { Cli, Define } from '../../../cli/cli.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Price } from '../../../core/price.ts';
import { listSome } from '../../../lib/text.ts';
import type { ModelsView } from '../api/schemas.ts';

interface Flags {
  all?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Lists the models that the configured keys reach, as the providers say, with their prices in halo, the context window and the agents that can use them. `*` marks the default of an agent. Choose one with `-c model.name=…` or in `[model]`.',
    )
    .option('--all', 'also known models of providers without a key')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((flags: Flags) => list(flags, cli));
  command
    .command('update')
    .summary('read the published prices of models')
    .description(
      'Reads the prices that genai-prices publishes and keeps them in HALO_HOME of this machine: runs that are submitted afterwards use them. `[prices]` in config.toml overrides them.',
    )
    .option('--from <file>', 'a file or an address in the same format, for machines without internet access')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', UPDATE_HELP)
    .action((flags: UpdateFlags) => update(flags, cli));
};

interface UpdateFlags {
  from?: string;
  json?: true;
}

const HELP = `
Examples:
  halo models
  halo models --all
  halo models --json | jq -r '.models[] | select(.price.output < 5) | .name'

See also: halo cost, halo config show, halo doctor`;

const UPDATE_HELP = `
Examples:
  halo models update
  halo models update --from data.json

Exit codes:
  0 updated    6 the prices cannot be read; those of before stay

See also: halo models, halo cost`;

async function update({ from, json }: UpdateFlags, cli: Cli): Promise<void> {
  const { updateModels } = await import('../api/update-models.ts');
  const today = new Date().toISOString().slice(0, 10);
  const updated = await updateModels(await cli.services.readHost(), { from, today });
  if (json) return cli.printJson(updated);
  const { count, added, changed, gone } = updated;
  await cli.print(`${cli.paint('good', 'updated')}  prices of ${count} models`);
  const lists = { new: added, 'other prices': changed, 'no longer known': gone };
  for (const [what, names] of Object.entries(lists))
    if (names.length > 0)
      await cli.print(
        `  ${what}: ${listSome(
          names.map((name) => safeLine(name)),
          MAX_NAMED,
        )}`,
      );
}

const MAX_NAMED = 12;

async function list({ all, json }: Flags, cli: Cli): Promise<void> {
  const view = await cli.withOperations((operations) => operations.listModels({ all: all === true }));
  if (json) return cli.printJson(view);
  const { models, prices, providers } = view;
  if (models.length > 0) {
    const heading = ['MODEL', 'INPUT', 'CACHED', 'OUTPUT', 'CONTEXT', 'AGENTS'].map((text) => ({ text }));
    const cells = [heading, ...models.map(rowOf)];
    await cli.print(...table(cells, { paint: cli.paint, width: terminalColumns(cli) }));
  }
  for (const provider of providers) {
    const line = noteOf(provider, all === true);
    if (line !== undefined) await cli.note(line);
  }
  await cli.note(
    `Prices in USD per million tokens, of ${prices.date} (${safeLine(prices.source)}).${legendOf(models)}`,
  );
}

function rowOf({ name, price, ownPrice, context, agents, preset }: ModelsView['models'][number]): Cell[] {
  const own = ownPrice === undefined ? '' : ' (own)';
  return [
    { text: `${safeLine(name)}${preset === undefined ? '' : ' *'}`, tone: 'strong' },
    ...(price === undefined
      ? [{ text: 'unknown', tone: 'warn' as const }, { text: '' }, { text: '' }]
      : [
          { text: `${amountOf(price, 'input')}${own}` },
          { text: amountOf(price, 'cached') },
          { text: amountOf(price, 'output') },
        ]),
    { text: context === undefined ? '-' : contextText(context) },
    { text: agents.join(', ') },
  ];
}

/** What the marks of the listed models mean, as sentences after another one. */
function legendOf(models: ModelsView['models']): string {
  const hasLong = models.some(({ price }) => price?.long !== undefined);
  const hasPreset = models.some(({ preset }) => preset === true);
  return `${hasLong ? ' `5 to 10`: long prompts cost more.' : ''}${hasPreset ? ' `*`: the default.' : ''}`;
}

/** `5`, or `5 to 10` if long prompts cost more. */
function amountOf(price: Price, kind: 'input' | 'cached' | 'output'): string {
  const long = price.long?.[kind] ?? price[kind];
  return long === price[kind] ? String(price[kind]) : `${price[kind]} to ${long}`;
}

function contextText(tokens: number): string {
  return tokens >= 1_000_000 ? `${Number((tokens / 1e6).toFixed(2))}M` : `${Math.round(tokens / 1_000)}k`;
}

function noteOf({ api, baseUrl, state, why }: ModelsView['providers'][number], all: boolean): string | undefined {
  const name = NAMES[api];
  if (state === 'no-key')
    return all
      ? `${name}: no key is configured.`
      : `${name}: no key is configured; \`halo models --all\` lists its models.`;
  return state === 'failed' ? `${name} (${safeLine(baseUrl)}) could not be asked: ${safeLine(why ?? '')}.` : undefined;
}

const NAMES = { openai: 'OpenAI', anthropic: 'Anthropic', google: 'Google' };
