import { z } from 'zod';
import { EFFORTS } from '../../core/agent-options.ts';
import { ANYONE, owner } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { oneOf, Text, wholeNumber } from './values.ts';

const Names = z.array(Text, { error: 'must be a list of names' }).optional();

/** `[choice]`: what repositories, PRDs and requests may choose. */
export const ChoiceTable = z.strictObject({
  agents: key(
    Names,
    [
      'list of strings',
      undefined,
      'Agents that repositories, PRDs and requests may [choose](agents.md#an-agent-for-each-story). Default: all.',
    ],
    owner('choose which agents are allowed'),
  ),
  models: key(
    Names,
    [
      'list of strings',
      undefined,
      'Models that repositories, PRDs and requests may choose; a `*` at the end matches any text. Models that your own settings name are always allowed. Default: all.',
    ],
    owner('choose which models are allowed'),
  ),
});

const Route = z
  .strictObject(
    {
      label: Text.optional(),
      path: Text.max(200, 'must be at most 200 characters long').optional(),
      size: Text.optional(),
      points: z.number({ error: 'must be a number' }).min(0, 'must be at least 0').optional(),
      criteria: wholeNumber(1, 10_000).optional(),
      attempt: wholeNumber(1, 10_000).optional(),
      agent: Text.optional(),
      model: Text.optional(),
      effort: oneOf(...EFFORTS).optional(),
    },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `has an unknown key ${issue.keys.join(', ')}; a route has label, path, size, points, criteria, attempt, agent, model and effort`
          : 'must be a table like [[route]] with attempt = 3 and model = "…"',
    },
  )
  .refine(
    ({ agent, model, effort }) => (agent ?? model ?? effort) !== undefined,
    'must choose at least one of agent, model and effort',
  );
export type Route = z.output<typeof Route>;

/** `[[route]]`: agents and models by rules. */
export const RouteList = key(
  z
    .array(Route, { error: 'must be tables like [[route]] with attempt = 3 and model = "…"' })
    .max(100, 'must be at most 100 routes'),
  [
    'list of tables',
    [],
    '[Rules](agents.md#routes) that choose `agent`, `model` and `effort` of an attempt by `label`, `path`, `size`, `points`, `criteria` and `attempt`: one `[[route]]` each; the first that matches counts.',
  ],
  ANYONE,
);

/** `fallback`: the agents that continue a story. */
export const FallbackList = key(
  z.array(Text, { error: 'must be a list of agents, like ["claude", "codex"]' }),
  [
    'list of strings',
    [],
    'Agents, in this order, that take over an attempt whose [provider fails](agents.md#another-agent-when-a-provider-fails): quota, outage, or a refused key or account.',
  ],
  ANYONE,
);
