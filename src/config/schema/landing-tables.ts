import { z } from 'zod';
import { HOST_FILE, JOIN, landRight, needsRight, owner, tighten } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';
import { BaseUrl, Duration, GlobList, oneOf, Text, VariableName, wholeNumber } from './values.ts';

function forge(meaning: string) {
  return z.strictObject({
    url: key(BaseUrl.optional(), ['URL', undefined, `${meaning}`], HOST_FILE),
    git_url: key(
      BaseUrl.optional(),
      [
        'URL',
        undefined,
        'Base URL to which halo [pushes](pull-requests.md#configure-a-token); default: that of the API, without `/api/…`.',
      ],
      HOST_FILE,
    ),
    token_env: key(
      VariableName.optional(),
      ['variable name', undefined, 'Variable of server and workers that contains the token.'],
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
    ['string', undefined, `Label of an issue whose story ${status}; default: the label of the run and \`:${suffix}\`.`],
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
      'Labels that order the issues, the first one first; default: the label of the run and `:next`, `:p1`, `:p2`.',
    ],
    owner('choose the order of issues'),
  ),
  report: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'Whether workers [report the progress](issues.md#reports) of stories to their issues, by labels and comments.',
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
    ['true or false', false, 'With `report`: close an issue once its commit is on the default branch of the forge.'],
    HOST_FILE,
  ),
});

/** `[land]`: what lands, and where. */
export const LandTable = z.strictObject({
  mode: key(
    oneOf('branch', 'ff', 'worktree', 'pr'),
    [
      'word',
      'branch',
      '`branch`: leave the commits on the branch of the run; `ff`: fast-forward the branch of the checkout when all stories have passed and nothing in them is [flagged](commands.md#halo-land-runid); `worktree`: check them out in `<HALO_HOME>/worktrees/<runId>` when all stories have passed; `pr`: push the branch of the run and open a [pull request](pull-requests.md).',
    ],
    needsRight('land', ['branch']),
  ),
  push: key(
    oneOf('branch', 'base'),
    [
      'word',
      'branch',
      'What `halo land` pushes for a repository with a URL: the `branch` of the run, or a fast-forward of its `base` branch.',
    ],
    { rule: 'tighten', order: ['base', 'branch'], defaultCounts: true },
  ),
  pull_requests: key(
    oneOf('run', 'story'),
    [
      'word',
      'run',
      'With `mode = "pr"`: one pull request for the `run`, or one for each `story`, [stacked](pull-requests.md#a-pull-request-for-each-story).',
    ],
    landRight('same'),
  ),
  feedback_rounds: key(
    wholeNumber(0, 10),
    [
      'number',
      3,
      'With `mode = "pr"`: how often a story is started again because a [review](pull-requests.md#reviews-and-checks) asks for changes or checks of the forge fail; 0: never.',
    ],
    tighten('lower'),
  ),
  feedback_interval: key(
    Duration,
    [
      'duration',
      '1m',
      'How often halo asks the forge for reviews and checks; a fifth as often after an hour without any.',
    ],
    HOST_FILE,
  ),
  stop_label: key(
    Text.max(100),
    ['string', 'halo:stop', 'Label of a pull request whose reviews and checks halo does not use.'],
    landRight('same'),
  ),
  unchanged: key(
    oneOf('trust', 'pass', 'fail'),
    [
      'word',
      'pass',
      'A story whose agent reports success without changing a file: `pass` it without a commit if the gates pass on its base, or `fail` the attempt. `trust`: also pass it without gates, because the agent says so.',
    ],
    tighten(['trust', 'pass', 'fail']),
  ),
  hidden_characters: key(
    oneOf('report', 'block', 'refuse'),
    [
      'word',
      'block',
      'If a story adds [hidden characters](commands.md#hidden-characters) to text files: `report` it, `block` the story until it is approved, or `refuse` it.',
    ],
    tighten(['report', 'block', 'refuse']),
  ),
  protect: key(
    GlobList,
    [
      'list of globs',
      [],
      'Paths that a story may change only with `halo approve`, in addition to [halo’s own list](proof.md#protected-paths). `!glob` excludes paths. At most 100 globs of 200 characters each, and 4000 characters in total.',
    ],
    JOIN,
  ),
});
