import { z } from 'zod';
import { REVIEW_MODES } from '../../core/review/agent-review.ts';
import { landRight, tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { oneOf, Text } from './values.ts';

/** `[review]`: another agent judges a change whose gates passed. */
export const ReviewTable = z.strictObject({
  when: key(
    oneOf(...REVIEW_MODES),
    [
      'word',
      'never',
      'Which changes [another agent reviews](proof.md#a-reviewer): `never`, `ask`, `risky` or `always`.',
    ],
    tighten(REVIEW_MODES),
  ),
  agent: key(
    Text.max(40, 'must be at most 40 characters long').optional(),
    [
      'word',
      undefined,
      'The agent that reviews. Default: the first of `claude`, `codex` and `gemini` with another model API and a key; else the agent of the run.',
    ],
    landRight('same'),
  ),
  model: key(
    Text.optional(),
    ['string', undefined, 'Its model. Default: that of its API, or `model.name` if the API is that of the run.'],
    landRight('same'),
  ),
});
