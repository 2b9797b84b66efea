import { z } from 'zod';
import { owner } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { Text } from './values.ts';

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
