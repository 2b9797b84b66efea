import { formatUsd } from '../../core/budget.ts';
import type { Percentiles, PrdEstimate } from '../../core/report/estimate.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { readEstimate } from '../prds/estimate-line.ts';
import { readPrd, resolveUsualPrd } from '../options/read-prd.ts';
import { noteUnreadable } from '../options/filter-runs.ts';
import { resolveRepository } from '../options/resolve-run.ts';
import { addSettingOptions, repoSource, type SettingFlags } from '../options/run-options.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

interface Flags extends Pick<SettingFlags, 'agent' | 'profile' | 'config'> {
  repo: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Estimates what the open stories of a PRD will cost and how long they take, with a range, from the newest ended runs of the repository. Creates no run. Stories of the agent and model that the run would use count alone if there are at least five.',
      )
      .argument('[prd]', 'the PRD file, folder of tasks or name, or - for stdin (default: as for `halo run`)')
      .option('--repo <path>', 'path or URL of the repository', '.'),
  )
    .option('--json', 'print the estimate as JSON: costUsd and minutes, each with story and sum')
    .addHelpText('after', HELP)
    .action((prd: string | undefined, flags: Flags) => estimate(prd, flags, cli));
};

const HELP = `
Examples:
  halo estimate prd.json
  halo estimate prd.json --agent claude
  halo estimate prd.json -c model.name=gpt-5-mini
  halo estimate prd.json --json | jq '.costUsd.sum.high'

Exit codes:
  0 printed, or too little is known    6 the PRD or the settings are invalid

See also: halo cost, halo submit`;

async function estimate(given: string | undefined, { repo, json, ...flags }: Flags, cli: Cli): Promise<void> {
  const named = repoSource(cli.cwd, repo);
  const source = named.startsWith('/') ? await resolveRepository(named) : named;
  const prd = await readPrd(given ?? (await resolveUsualPrd(source, cli)), cli);
  const found = await readEstimate({ prd, repo: source, flags }, cli);
  if (json) return cli.printJson(found);
  await cli.print(describeStories(found));
  if (found.minutes !== undefined) await cli.print('', ...estimateTable(found, cli));
  await cli.note(...found.notes.map((text) => `${cli.paintErr('warn', '!')} ${safeLine(text, 500)}`));
  await noteUnreadable(found.unreadable, cli);
}

/** `3 open stories, estimated from 46 stories of 12 runs with codex and gpt-5; 41 of them passed` */
function describeStories({ stories, basis, minutes }: PrdEstimate): string {
  const open = `${count(stories, 'open story', 'open stories')}`;
  if (minutes === undefined) return `${open}, no estimate`;
  const { agent, model } = basis;
  const used = [agent, model].flatMap((name) => (name === undefined ? [] : [safeLine(name, 60)]));
  const only = used.length === 0 ? '' : ` with ${used.join(' and ')}`;
  const from = `${basis.stories} stories of ${count(basis.runs, 'run', 'runs')}${only}`;
  return `${open}, estimated from ${from}; ${basis.landed} of them passed`;
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function estimateTable({ costUsd, minutes }: PrdEstimate, cli: Cli): string[] {
  const heading = ['', 'LOW (10 %)', 'MEDIAN', 'HIGH (90 %)'].map((text): Cell => ({ text }));
  const time = (value: number) => formatElapsed(value * 60_000);
  const rows = [
    ...(costUsd === undefined
      ? []
      : [row('cost of all', costUsd.sum, formatUsd), row('cost of one', costUsd.story, formatUsd)]),
    ...(minutes === undefined ? [] : [row('time of all', minutes.sum, time), row('time of one', minutes.story, time)]),
  ];
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}

function row(name: string, { low, median, high }: Percentiles, format: (value: number) => string): Cell[] {
  return [{ text: name, tone: 'strong' }, ...[low, median, high].map((value): Cell => ({ text: format(value) }))];
}
