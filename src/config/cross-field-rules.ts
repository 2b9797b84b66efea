import { effortsOf } from '../core/agent-options.ts';
import { BUDGET_SCOPES } from '../core/budget.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { mayReceiveCredential } from '../lib/network/credential-target.ts';
import type { Config } from './config.ts';
import { isForeignModel } from './resolve-model.ts';
import { DEFAULT_ORIGIN } from './settings.ts';

/** A setting that does not fit the others. */
interface Conflict {
  key: string;
  /** Completes the sentence "<key>: …". */
  problem: string;
}

/** What a rule says in its sentences. */
interface Named {
  originOf: (key: string) => string;
  /** The day of the known prices; undefined: nothing is computed with prices, so no model needs one. */
  pricesOf: string | undefined;
}

/** A rule between settings; each is valid by itself. */
type Rule = (config: Config, named: Named) => Conflict[];

const RULES: readonly Rule[] = [
  requireCommand,
  requireKnownEffort,
  requireCassettes,
  requireTestsCommand,
  requireSigningKey,
  requireOrderedBackoff,
  requirePrices,
  requireOneProvider,
  requireEncryption,
  requireReviewer,
];

/** Checks the rules between keys; returns one line per violated rule, and a hint if it is more specific than the usual one. */
export function findConflicts(config: Config, named: Named): { problems: string[]; hint?: string | undefined } {
  const conflicts = RULES.flatMap((rule) => rule(config, named));
  const problems = conflicts.map(({ key, problem }) => `${named.originOf(key)}: ${key}: ${problem}`);
  const lacksOnlyCommand = conflicts.length === 1 && requireCommand(config).length === 1;
  return { problems, hint: lacksOnlyCommand ? COMMAND_HINT : undefined };
}

const COMMAND_HINT =
  'Add [agents.command] run = "./tools/agent.sh" (docs/agents.md, "A command of your own"), or choose another agent.';

function requireCommand({ agent, agentCommand }: Config): Conflict[] {
  return unless(agent !== 'command' || agentCommand !== undefined, 'agent', '"command" requires agents.command.run');
}

/** The agent's program must be able to request the effort. */
function requireKnownEffort({ agent, agentOptions: { effort }, model }: Config): Conflict[] {
  const known = effortsOf(agent, model.api);
  if (effort === undefined || known.includes(effort)) return [];
  const choices = known.map((each) => `"${each}"`).join(', ');
  const problem =
    known.length === 0
      ? `the agent "${agent}" has no such setting; put it into agents.${agent}.${agent === 'command' ? 'run' : 'acp'}`
      : `the agent "${agent}" cannot request "${effort}"; use one of ${choices}${didYouMean(effort, known)}`;
  return [{ key: 'model.effort', problem }];
}

function requireCassettes({ model }: Config): Conflict[] {
  const isComplete = model.mode !== 'replay' || model.api === undefined || model.cassettes !== undefined;
  return unless(isComplete, 'model.mode', '"replay" requires model.cassettes, the folder of the cassettes');
}

function requireTestsCommand({ tests }: Config): Conflict[] {
  return unless(
    tests.first === 'off' || tests.command !== undefined,
    'tests.first',
    `"${tests.first}" requires tests.command, the command that runs the tests of a story`,
  );
}

function requireSigningKey({ git }: Config): Conflict[] {
  return unless(git.sign !== 'ssh' || git.signingKey !== undefined, 'git.sign', '"ssh" requires git.signing_key');
}

function requireOrderedBackoff({ retry }: Config, { originOf }: Named): Conflict[] {
  const isOrdered = retry.maxBackoffMs >= retry.backoffMs;
  const limit = `retry.max_backoff (${originOf('retry.max_backoff')})`;
  return unless(isOrdered, 'retry.backoff', `must not be longer than ${limit}`);
}

/** A cost limit cannot be enforced for a model without a price. */
function requirePrices({ model, review, budget, prices }: Config, { pricesOf }: Named): Conflict[] {
  if (pricesOf === undefined || model.mode === 'replay') return [];
  const own = model.api === undefined ? [] : [model.name, ...model.fallback, ...model.allow];
  const reviewing = review.reviewers.flatMap((each) => (each.model.api === undefined ? [] : [each.model.name]));
  const scope = BUDGET_SCOPES.find((each) => budget[`${each}Usd`] !== undefined);
  if (scope === undefined) return [];
  return [...new Set([...own, ...reviewing])]
    .filter((name) => !Object.hasOwn(prices, name))
    .map((name) => ({
      key: `budget.${scope}_usd`,
      problem:
        `halo does not know what the model "${name}" costs (its prices are of ${pricesOf}); ` +
        `run \`halo models update\`, or add [prices."${name}"] with input and output, in USD per million tokens, to config.toml of HALO_HOME`,
    }));
}

/** A run has one provider. */
function requireOneProvider({ model }: Config): Conflict[] {
  const { api, baseUrl } = model;
  if (api === undefined) return [];
  return model.fallback
    .filter((name) => isForeignModel(name, { api, baseUrl }))
    .map((name) => ({
      key: 'model.fallback',
      problem: `"${name}" is not a model of the provider of the run (${baseUrl}); name models of that provider`,
    }));
}

/** The key is sent to the provider. */
function requireEncryption({ model: { api, mode, baseUrl } }: Config): Conflict[] {
  const isSent = api !== undefined && mode !== 'replay';
  return unless(
    !isSent || mayReceiveCredential(baseUrl, baseUrl),
    'model.base_url',
    `the key would be sent to another machine without encryption; use https, or an address of this machine such as http://127.0.0.1:8000/v1`,
  );
}

/** A model belongs to the API of an agent. */
function requireReviewer({ review: { reviewers } }: Config, { originOf }: Named): Conflict[] {
  const needsAgent = originOf('review.model') !== DEFAULT_ORIGIN && originOf('review.agent') === DEFAULT_ORIGIN;
  const lacksCommand = reviewers.some((each) => each.agent === 'command' && each.agentCommand === undefined);
  const refused = reviewers.find(
    ({ model: { api, baseUrl } }) => api !== undefined && !mayReceiveCredential(baseUrl, baseUrl),
  );
  return [
    ...unless(!needsAgent, 'review.model', 'requires review.agent, the agent that uses it'),
    ...unless(!lacksCommand, 'review.agent', '"command" requires agents.command.run'),
    ...unless(
      refused === undefined,
      'review.agent',
      `the key would be sent to ${refused?.model.baseUrl ?? ''} without encryption; use https, or an address of this machine`,
    ),
  ];
}

function unless(isMet: boolean, key: string, problem: string): Conflict[] {
  return isMet ? [] : [{ key, problem }];
}
