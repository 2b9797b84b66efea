import type { MarkdownDialect } from '../dialect.ts';
import { countIds, readBoxes } from '../markdown/read-checkboxes.ts';
import { writeBoxes } from '../markdown/write/write-checkboxes.ts';

/** `- [ ] text` below headings. */
export const markdownCheckbox: MarkdownDialect = {
  id: 'markdown-checkbox',
  format: 'markdown',
  title: 'markdown-checkbox (checkboxes)',
  detects: (document) => countIds(document).all > 0,
  read: readBoxes,
  write: (content) => writeBoxes(content, 'plain'),
};
