import type { StoryStatus } from '../../core/prd/prd.ts';
import type { DraftStory } from '../dialect.ts';
import type { Member } from '../json/find-list.ts';
import type { Findings } from '../findings.ts';
import { addProblem, addWarning, nameKind, readExtra, readMembers, type MemberReader } from '../json/object-reader.ts';
import { readAcceptance } from './read-acceptance.ts';
import { readDependsOn } from './read-depends-on.ts';
import { readId } from './read-id.ts';
import { readPriority } from './read-priority.ts';
import { readStatus } from './read-status.ts';
import { readDescription, readNotes, readTitle } from './read-texts.ts';
import { readStruck, STRUCK } from '../struck.ts';

/** What a dialect does to a story besides the common reading of its fields. */
export type Refine = (story: DraftStory, reader: MemberReader) => DraftStory;

export interface StoryRequest {
  member: Member;
  /** Counts from 1. */
  position: number;
  findings: Findings;
  refine?: Refine | undefined;
}

/** Reads one member of a list of stories, each field in any of its spellings. Nothing: it is no object. */
export function readStory({ member, position, findings, refine }: StoryRequest): DraftStory[] {
  const { at, key, group } = member;
  const reader = readMembers(at, findings);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${nameKind(at)}`);
    return [];
  }
  const { id, ownId } = readId(reader, position, key);
  const { title, isDropped } = readStruck(readTitle(reader, id));
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
