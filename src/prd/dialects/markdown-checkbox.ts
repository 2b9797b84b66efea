import type { MarkdownDialect } from '../dialect.ts';
import { countIds, readCheckboxes } from '../markdown/read-checkboxes.ts';
import { writeCheckboxes } from '../markdown/write/write-checkboxes.ts';

/** `- [ ] text` below headings. */
export const markdownCheckbox: MarkdownDialect = {
  id: 'markdown-checkbox',
  format: 'markdown',
  title: 'markdown-checkbox (checkboxes)',
  detects: (document) => countIds(document).all > 0,
  read: readCheckboxes,
  write: (content) => writeCheckboxes(content, 'plain'),
};
