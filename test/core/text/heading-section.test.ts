import { expect, it } from 'vitest';
import { findHeadingSection } from '../../../src/core/text/heading-section.ts';

const TEXT = `# Standards
All.
## Naming
Plain names.
### Files
Lower case.
## Testing  Standards ##
\`\`\`sh
# Naming
## not a heading
\`\`\`
Assert.
# Other
No.`;

it('a section reaches to the next heading of its level or a higher one', () => {
  expect(findHeadingSection(TEXT, 'Naming')).toBe('## Naming\nPlain names.\n### Files\nLower case.');
  expect(findHeadingSection(TEXT, 'Files')).toBe('### Files\nLower case.');
  expect(findHeadingSection(TEXT, 'other')).toBe('# Other\nNo.');
});

it('a heading is found whatever its case, white space and closing signs; fenced code has none', () => {
  expect(findHeadingSection(TEXT, ' testing standards')).toBe(
    '## Testing  Standards ##\n```sh\n# Naming\n## not a heading\n```\nAssert.',
  );
  expect(findHeadingSection(TEXT, 'not a heading')).toBeUndefined();
  expect(findHeadingSection('#Naming\n text', 'Naming')).toBeUndefined();
});
