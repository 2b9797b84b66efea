import { clip } from '../safe-text.ts';

/** How a line wants to be seen; printers choose colors by it. */
export type Tone = 'plain' | 'quiet' | 'good' | 'bad' | 'warn' | 'strong' | 'mark';

/** One line of a transcript, not yet laid out. `label` says who speaks; without one it goes on with the line before. */
export interface TranscriptLine {
  story: string;
  label: string;
  tone: Tone;
  text: string;
}

/** A line of an event that belongs to a story. */
export type StoryLine = Omit<TranscriptLine, 'story'>;

const TIME_WIDTH = 8;
const STORY_WIDTH = 8;
const LABEL_WIDTH = 7;

/** Gives text its look; the plain one returns it unchanged. */
export type Paint = (tone: Tone, text: string) => string;

/** One laid-out line; a line that goes on with the one before leaves the first columns, `when` and who, empty. */
export function layOut(line: TranscriptLine, when: string, paint: Paint = (_tone, text) => text): string {
  const first = line.label !== '';
  const story = clip(line.story, 16);
  const time = (first ? when : '').padStart(Math.max(TIME_WIDTH, when.length));
  const who = [(first ? story : '').padEnd(Math.max(STORY_WIDTH, story.length)), line.label.padEnd(LABEL_WIDTH)];
  if (line.text === '') return paint('quiet', [time, ...who].join('  ').trimEnd());
  return `${paint('quiet', [time, ...who].join('  '))}  ${paint(line.tone, line.text)}`;
}
