import { truncate } from '../text/safe-text.ts';

/** The style of a line, which determines its color. */
export type Tone = 'plain' | 'quiet' | 'good' | 'bad' | 'warn' | 'strong' | 'mark';

/** One line of a transcript before layout. Without a `label` it continues the previous line. */
export interface TranscriptLine {
  story: string;
  label: string;
  tone: Tone;
  text: string;
}

/** A line of a story event. */
export type StoryLine = Omit<TranscriptLine, 'story'>;

const TIME_WIDTH = 8;
const STORY_WIDTH = 8;
const MAX_STORY_WIDTH = 16;
const LABEL_WIDTH = 7;

/** Styles text; the plain implementation returns it unchanged. */
export type Paint = (tone: Tone, text: string) => string;

/** The width of the column of stories with these ids. */
export function storyColumnWidth(ids: readonly string[]): number {
  return Math.max(STORY_WIDTH, ...ids.map((id) => truncate(id, MAX_STORY_WIDTH).length));
}

/**
 * Formats a line in columns; a continuation line leaves the time and label columns empty. `storyWidth` is that of all ids
 * of the run, if they are known.
 */
export function layOutLine(
  line: TranscriptLine,
  when: string,
  paint: Paint = (_tone, text) => text,
  storyWidth = STORY_WIDTH,
): string {
  const first = line.label !== '';
  const story = truncate(line.story, MAX_STORY_WIDTH);
  const time = (first ? when : '').padStart(Math.max(TIME_WIDTH, when.length));
  const who = [(first ? story : '').padEnd(Math.max(storyWidth, story.length)), line.label.padEnd(LABEL_WIDTH)];
  if (line.text === '') return paint('quiet', [time, ...who].join('  ').trimEnd());
  return `${paint('quiet', [time, ...who].join('  '))}  ${paint(line.tone, line.text)}`;
}
