import type { MarkdownDialect } from '../dialect.ts';
import { hasIssueIds, readIssueBullets } from '../markdown/issue-bullets.ts';
import { readCheckboxes } from '../markdown/read-checkboxes.ts';
import { writeCheckboxes } from '../markdown/write/write-checkboxes.ts';

/** `IMPLEMENTATION_PLAN.md` with `- [ ] [#42] text` or `- [#42] text`: checkboxes or bullets that name issues. */
export const hank: MarkdownDialect = {
  id: 'hank',
  format: 'markdown',
  title: 'hank (checkboxes or bullets that name issues, like [#42])',
  detects: (document) => hasIssueIds(readIssueBullets(document)),
  read: (document, diagnostics) => readCheckboxes(readIssueBullets(document), diagnostics),
  write: (content) => writeCheckboxes(content, 'bracketed'),
};
