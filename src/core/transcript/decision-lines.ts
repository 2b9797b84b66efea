import type { JournalEvent } from '../journal/events.ts';
import { safeLine } from '../text/safe-text.ts';
import { headLines, LINE_LENGTH, shortCommit } from './excerpt.ts';
import type { StoryLine } from './transcript-line.ts';

/** What people decide about a story. */
export type DecisionEvent = Extract<
  JournalEvent,
  {
    type:
      | 'story.approved'
      | 'approval.given'
      | 'feedback.given'
      | 'story.answered'
      | 'question.expired'
      | 'story.cancelled'
      | 'story.rejected';
  }
>;

/** The transcript line of a decision. */
export function describeDecision(event: DecisionEvent): Pick<StoryLine, 'tone' | 'text'> {
  const by = event.by === undefined ? '' : ` by ${safeLine(event.by)}`;
  switch (event.type) {
    case 'story.approved':
      return { tone: 'good', text: `APPROVED  ${shortCommit(event.commit)}${by}` };
    case 'approval.given': {
      const what = 'to be merged onto the stories landed in the meantime; lands if the gates pass';
      return { tone: 'good', text: `APPROVED  ${shortCommit(event.commit)}${by}: ${what}` };
    }
    case 'feedback.given': {
      const { comments, text, commit, author } = event;
      const who = author === undefined ? by : ` by ${safeLine(author)} in a review`;
      const count = comments.length;
      const counted = count === 0 ? '' : ` (${count} ${count === 1 ? 'comment' : 'comments'})`;
      const said = safeLine(text === '' ? (comments[0]?.text ?? '') : text, LINE_LENGTH);
      return { tone: 'warn', text: `FEEDBACK  ${shortCommit(commit)}${who}${counted}: ${said}` };
    }
    case 'story.answered':
      return {
        tone: 'good',
        text: `ANSWERED ${by}${event.default ? ', because no person answered in time' : ''}: ${safeLine(event.text, LINE_LENGTH)}`,
      };
    case 'question.expired':
      return {
        tone: 'bad',
        text: `EXPIRED   the question was not answered in time: the story ${event.then === 'fail' ? 'fails' : 'is left out'}`,
      };
    case 'story.cancelled': {
      const why = event.why === undefined ? '' : `: ${safeLine(event.why, LINE_LENGTH)}`;
      return { tone: 'warn', text: `CANCELLED ${by}${why}` };
    }
    case 'story.rejected': {
      const [reason = ''] = headLines(event.reason, 1);
      return { tone: 'bad', text: `REJECTED  ${shortCommit(event.commit)}${by}  ${reason}` };
    }
  }
}
