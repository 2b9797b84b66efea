import { BUDGET_SCOPES } from '../core/budget.ts';
import { PRICES_AS_OF } from '../core/price.ts';
import type { Config } from './config.ts';
import { DEFAULT_ORIGIN } from './settings.ts';

/** Checks the rules between keys; returns one line per violated rule. */
export function findConflicts(config: Config, origins: Record<string, string>): string[] {
  const at = (key: string) => origins[key] ?? DEFAULT_ORIGIN;
  const conflicts: string[] = [];
  if (config.agent === 'command' && config.agentCommand === undefined) {
    conflicts.push(`${at('agent')}: agent: "command" requires agents.command.run`);
  }
  if (config.model.mode === 'replay' && config.model.api !== undefined && config.model.cassettes === undefined) {
    conflicts.push(`${at('model.mode')}: model.mode: "replay" requires model.cassettes, the folder of the cassettes`);
  }
  if (config.git.sign === 'ssh' && config.git.signingKey === undefined) {
    conflicts.push(`${at('git.sign')}: git.sign: "ssh" requires git.signing_key`);
  }
  if (config.retry.maxBackoffMs < config.retry.backoffMs) {
    conflicts.push(
      `${at('retry.backoff')}: retry.backoff: must not be longer than retry.max_backoff (${at('retry.max_backoff')})`,
    );
  }
  return [...conflicts, ...findMissingPrices(config, at)];
}

/** A cost limit cannot be enforced for a model without a price. */
function findMissingPrices({ model, budget, prices }: Config, originOf: (key: string) => string): string[] {
  if (model.api === undefined || model.mode === 'replay') return [];
  const scope = BUDGET_SCOPES.find((each) => budget[each].usd !== undefined);
  if (scope === undefined) return [];
  return [model.name, ...model.allow]
    .filter((name) => !Object.hasOwn(prices, name))
    .map(
      (name) =>
        `${originOf(`budget.${scope}_usd`)}: budget.${scope}_usd: halo does not know what the model "${name}" costs ` +
        `(its prices are of ${PRICES_AS_OF}); add [prices."${name}"] with input and output, in USD per million ` +
        'tokens, to config.toml of HALO_HOME',
    );
}
