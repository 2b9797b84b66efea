import type { MarkdownDialect } from '../dialect.ts';
import { readCheckboxes } from '../markdown/read-checkboxes.ts';
import { writeCheckboxes } from '../markdown/write/write-checkboxes.ts';

/** `IMPLEMENTATION_PLAN.md` with `- [ ] [#42] text`: checkboxes that name issues. */
export const hank: MarkdownDialect = {
  id: 'hank',
  format: 'markdown',
  title: 'hank (checkboxes that name issues, like [#42])',
  detects: ({ boxes }) => boxes.some(({ text }) => /^\[(?:#\d|[A-Za-z]\w*-\w*\d)[\w.]*\]\s/.test(text)),
  read: readCheckboxes,
  write: (content) => writeCheckboxes(content, 'bracketed'),
};
