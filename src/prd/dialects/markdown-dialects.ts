import type { MarkdownDialect } from '../dialect.ts';
import { hasIssueIds, readIssueBullets } from '../markdown/issue-bullets.ts';
import { countIds, readCheckboxes } from '../markdown/read-checkboxes.ts';
import { readStoryHeadings } from '../markdown/read-story-headings.ts';
import { findStoryHeadings } from '../markdown/story-headings.ts';
import { writeCheckboxes, writeStoryHeadings } from '../markdown/write-markdown.ts';

/** `- [ ] text` below headings. */
export const markdownCheckbox: MarkdownDialect = {
  id: 'markdown-checkbox',
  format: 'markdown',
  title: 'markdown-checkbox (checkboxes)',
  detects: (document) => countIds(document).all > 0,
  read: readCheckboxes,
  write: (content) => writeCheckboxes(content, 'plain'),
};

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

/** `### US-001: title` with `**Acceptance Criteria:**` below it. */
export const markdownStories: MarkdownDialect = {
  id: 'markdown-stories',
  format: 'markdown',
  title: 'markdown-stories (headings with ids and Acceptance Criteria)',
  detects: (document) => findStoryHeadings(document).length > 0,
  read: readStoryHeadings,
  write: writeStoryHeadings,
};

/** `IMPLEMENTATION_PLAN.md` with `- [ ] [#42] text` or `- [#42] text`: checkboxes or bullets that name issues. */
export const hank: MarkdownDialect = {
  id: 'hank',
  format: 'markdown',
  title: 'hank (checkboxes or bullets that name issues, like [#42])',
  detects: (document) => hasIssueIds(readIssueBullets(document)),
  read: (document, diagnostics) => readCheckboxes(readIssueBullets(document), diagnostics),
  write: (content) => writeCheckboxes(content, 'bracketed'),
};
