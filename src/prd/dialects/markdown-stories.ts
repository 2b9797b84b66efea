import type { MarkdownDialect } from '../dialect.ts';
import { readStoryHeadings } from '../markdown/headings/read-story-headings.ts';
import { findStoryHeadings } from '../markdown/headings/story-headings.ts';
import { writeStoryHeadings } from '../markdown/write/write-story-headings.ts';

/** `### US-001: title` with `**Acceptance Criteria:**` below it. */
export const markdownStories: MarkdownDialect = {
  id: 'markdown-stories',
  format: 'markdown',
  title: 'markdown-stories (headings with ids and Acceptance Criteria)',
  detects: (document) => findStoryHeadings(document).length > 0,
  read: readStoryHeadings,
  write: writeStoryHeadings,
};
