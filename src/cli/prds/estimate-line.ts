import { formatUsd } from '../../core/budget.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import type { Percentiles, PrdEstimate } from '../../core/report/estimate.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import type { Cli } from '../cli.ts';
import { resolveRepository } from '../options/resolve-run.ts';
import { repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface EstimateQuery {
  prd: PrdFile;
  /** Path or URL of the repository, as given. */
  repo: string;
  flags: Pick<SettingFlags, 'agent' | 'profile' | 'config'>;
}

/** What the open stories of a PRD will probably take, from earlier stories of the repository. */
export async function readEstimate({ prd, repo, flags }: EstimateQuery, cli: Cli) {
  const { profile, ...settings } = flags;
  const named = repoSource(cli.cwd, repo);
  const isFolder = named.startsWith('/');
  const source = isFolder ? await resolveRepository(named) : named;
  // The settings in the repository of a URL are not known here.
  const folder = isFolder ? source : '/';
  const { readConfig } = await import('../../api/repository/repo-config.ts');
  const query = { host: await cli.services.readHost(), folder, profile, set: settingsOf(settings) };
  const { agent, model } = (await readConfig(query)).config;
  const name = model.api === undefined ? undefined : model.name;
  return cli.withOperations((operations) => operations.estimatePrd({ prd, repo: source, agent, model: name }));
}

/** The same next to something else: undefined if too little is known, or if it cannot be read. */
export async function findEstimate(query: EstimateQuery, cli: Cli): Promise<PrdEstimate | undefined> {
  const found = await readEstimate(query, cli).catch(() => undefined);
  return found?.minutes === undefined || found.stories === 0 ? undefined : found;
}

/** `Estimate: $2.29 ($1.21 to $3.64), 14m 02s (9m 10s to 23m 41s), from 48 earlier stories` */
export function estimateLine({ costUsd, minutes, basis }: PrdEstimate): string {
  const range = ({ low, median, high }: Percentiles, format: (value: number) => string) =>
    `${format(median)} (${format(low)} to ${format(high)})`;
  const cost = costUsd === undefined ? [] : [range(costUsd.sum, formatUsd)];
  const time = minutes === undefined ? [] : [range(minutes.sum, (value) => formatElapsed(value * 60_000))];
  return `Estimate: ${[...cost, ...time, `from ${basis.stories} earlier stories`].join(', ')}`;
}
