import type { StoryStatus } from '../../core/prd/prd.ts';
import type { DraftStory } from '../dialect.ts';
import type { StoryMember } from '../json/find-list.ts';
import type { Diagnostics } from '../diagnostics.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  readExtra,
  readMembers,
  type MemberReader,
} from '../json/object-reader.ts';
import { readAcceptance } from './read-acceptance.ts';
import { readDependsOn } from './read-depends-on.ts';
import { readId } from './read-id.ts';
import { readPriority } from './read-priority.ts';
import { readStatus } from './read-status.ts';
import { readDescription, readNotes, readTitle, parseStruckThrough, STRUCK } from './read-texts.ts';

/** Dialect-specific processing of a story after the common fields were read. */
export type RefineStory = (story: DraftStory, reader: MemberReader) => DraftStory;

export interface StoryRequest {
  member: StoryMember;
  /** Counts from 1. */
  position: number;
  diagnostics: Diagnostics;
  refine?: RefineStory | undefined;
}

/** Reads one item of a story list; fields may use any known key. Returns an empty list if the item is not an object. */
export function readStory({ member, position, diagnostics, refine }: StoryRequest): DraftStory[] {
  const { at, key, group } = member;
  const reader = readMembers(at, diagnostics);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${describeKind(at)}`);
    return [];
  }
  const { id, ownId } = readId(reader, position, key);
  const { title, isDropped } = parseStruckThrough(readTitle(reader, id));
  const story: DraftStory = {
    id,
    ownId,
    title,
    description: readDescription(reader),
    acceptance: readAcceptance(reader, id),
    priority: readPriority(reader, id),
    status: leaveOut(readStatus(reader, id), { isDropped, id, reader }),
    notes: readNotes(reader),
    dependsOn: readDependsOn(reader),
    extra: {},
    at,
    mark: { kind: 'json', at },
  };
  const refined = refine?.(story, reader) ?? story;
  const extra = readExtra(reader);
  return [{ ...refined, extra: group === undefined || 'group' in extra ? extra : { ...extra, group } }];
}

function leaveOut(
  status: StoryStatus,
  { isDropped, id, reader }: { isDropped: boolean; id: string; reader: MemberReader },
): StoryStatus {
  if (!isDropped || status === 'done') return status;
  addWarning(reader, id, STRUCK);
  return 'skipped';
}
