import type { MarkdownDialect } from '../dialect.ts';
import { countIds, readCheckboxes } from '../markdown/read-checkboxes.ts';
import { writeCheckboxes } from '../markdown/write/write-checkboxes.ts';

/** `- [ ] T001 text`, `- [x] **1.2 text**`: checkboxes with ids. */
export const markdownNumbered: MarkdownDialect = {
  id: 'markdown-numbered',
  format: 'markdown',
  title: 'markdown-numbered (checkboxes with ids)',
  detects(document) {
    const { named, all } = countIds(document);
    return all > 0 && named * 2 >= all;
  },
  read: readCheckboxes,
  write: (content) => writeCheckboxes(content, 'numbered'),
};
