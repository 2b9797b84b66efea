import type { RunView } from '../../../api/operations/runs.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';
import type { Person } from '../../page/page-parts.tsx';
import type { AttemptRecord } from '../../../core/journal/attempts.ts';
import type { RunJournal } from '../run-journal.ts';

/** What the screens of a story get. */
export interface StoryScreenProps {
  journal: RunJournal;
  version: number;
  run: RunState;
  view: RunView | undefined;
  /** `story`, its id, then `attempt` and its number, or `compare` and two numbers, then a part of the attempt. */
  place: readonly string[];
  now: string;
  person: Person;
}

/** What the parts of an attempt get. */
export interface AttemptViewProps extends StoryScreenProps {
  story: StoryState;
  attempt: AttemptRecord;
  /** The part of the address after the attempt: a tab, a file, and a line. */
  part: readonly string[];
}
