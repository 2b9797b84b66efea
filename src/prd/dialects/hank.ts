import type { MarkdownDialect } from '../dialect.ts';
import { readBoxes } from '../markdown/read-checkboxes.ts';
import { writeBoxes } from '../markdown/write/write-checkboxes.ts';

/** `IMPLEMENTATION_PLAN.md` with `- [ ] [#42] text`: checkboxes that name issues. */
export const hank: MarkdownDialect = {
  id: 'hank',
  format: 'markdown',
  title: 'hank (checkboxes that name issues, like [#42])',
  detects: ({ boxes }) => boxes.some(({ text }) => /^\[(?:#\d|[A-Za-z]\w*-\w*\d)[\w.]*\]\s/.test(text)),
  read: readBoxes,
  write: (content) => writeBoxes(content, 'bracketed'),
};
