import { z } from 'zod';
import { key } from './key-metadata.ts';
import { ANYONE } from '../trust/key-trust.ts';
import { GlobList, oneOf, RepositoryFile, RepositoryFiles, wholeNumber } from './values.ts';

/** `[prompt]`: what a prompt contains in addition to the story. */
export const PromptTable = z.strictObject({
  before: key(
    RepositoryFile.optional(),
    ['path', undefined, 'File of the repository with the text that every [prompt](prompts.md) begins with.'],
    ANYONE,
  ),
  standards: key(
    RepositoryFiles,
    [
      'list of paths',
      [],
      'Files of the repository with standards that every change follows. `docs/standards.md#Naming` is only the section with that heading.',
    ],
    ANYONE,
  ),
  test_standards: key(RepositoryFiles, ['list of paths', [], 'The same, with standards for tests.'], ANYONE),
  specs: key(
    GlobList,
    ['list of globs', [], 'Files of the repository with specifications, in the order of their paths; at most 50.'],
    ANYONE,
  ),
  vision: key(
    RepositoryFile.optional(),
    ['path', undefined, 'File of the repository that says what the project is for.'],
    ANYONE,
  ),
  prd: key(
    oneOf('story', 'whole'),
    ['word', 'story', '`whole`: the prompt also contains the other stories of the PRD.'],
    ANYONE,
  ),
  max_tokens: key(
    wholeNumber(0, 10_000_000).optional(),
    [
      'whole number',
      undefined,
      'Maximum tokens of a prompt (four bytes each); [the least important parts are cut](prompts.md#limit). `0`: no limit. Default: 15000 for a PRD in the `swanson` dialect, otherwise no limit.',
    ],
    ANYONE,
  ),
});
