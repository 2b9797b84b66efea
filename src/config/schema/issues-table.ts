import { z } from 'zod';
import { HOST_FILE, owner } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { BaseUrl, Text, VariableName } from './values.ts';

function forge(meaning: string) {
  return z.strictObject({
    url: key(BaseUrl.optional(), ['URL', undefined, `${meaning} Only in \`<HALO_HOME>/config.toml\`.`], HOST_FILE),
    token_env: key(
      VariableName.optional(),
      [
        'variable name',
        undefined,
        'Name of the variable, in the environment of server and workers, that contains the token. Only in `<HALO_HOME>/config.toml`.',
      ],
      HOST_FILE,
    ),
  });
}

/** `[forge.<name>]`: how the API of a forge is reached. */
export const ForgeTable = z.strictObject({
  github: forge(
    'Base URL of the API; default: `https://api.github.com`. For GitHub Enterprise: `https://<host>/api/v3`.',
  ),
  gitlab: forge('Base URL of the API; default: `https://gitlab.com/api/v4`.'),
  gitea: forge('Base URL of the API of Gitea or Forgejo, like `https://<host>/api/v1`.'),
});

const Label = Text.max(100, { error: 'must be at most 100 characters long' }).refine((text) => !text.includes(','), {
  error: 'must be a label without a comma',
});

function statusLabel(status: string, suffix: string) {
  return key(
    Label.optional(),
    [
      'string',
      undefined,
      `Label of an issue whose story ${status}; default: the label of the run and \`:${suffix}\`. Only in \`<HALO_HOME>/config.toml\`.`,
    ],
    HOST_FILE,
  );
}

/** `[issues]`: runs whose stories are [issues](issues.md). */
export const IssuesTable = z.strictObject({
  label: key(
    Label,
    ['string', 'halo', 'Label of the [issues](issues.md) that are stories.'],
    owner('choose which issues are read'),
  ),
  priority_labels: key(
    z.array(Label, { error: 'must be a list of labels like ["halo:next"]' }).optional(),
    [
      'list of strings',
      undefined,
      'Labels that order the issues: those with the first label run first, those without any of them last; default: the label of the run and `:next`, `:p1`, `:p2`.',
    ],
    owner('choose the order of issues'),
  ),
  report: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'Whether workers [report the progress](issues.md#reports) of stories to their issues, by labels and comments. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
  labels: z.strictObject({
    running: statusLabel('runs', 'in-progress'),
    landed: statusLabel('has landed', 'done'),
    failed: statusLabel('failed', 'failed'),
    waiting: statusLabel('waits for approval', 'waiting'),
  }),
  close: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'With `report`: whether an issue is closed once its commit is on the default branch of the forge. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
});
