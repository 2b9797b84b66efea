import { HaloError } from './errors.ts';

/**
 * Places where a process can be told to fail (HALO_FAILPOINT): the borders between phases, and both sides of all that
 * lasts. In the order in which a run comes by; docs/reliability.md tells what follows from a fault at each.
 */
export const FAILPOINTS = {
  'submit.filled': 'the runs are filled aside, nobody can see them',
  'submit.ready': 'the runs are made, and not yet in their places',
  'submit.placed': 'the runs are in their places, not in the queue',
  'job.taken': 'a worker has taken a job and done nothing about it',
  'run.started.before': 'the first word on a run is not yet in the journal',
  'run.started.after': 'the journal says that the run has begun',
  'story.started.before': 'an attempt is planned, the journal does not know it',
  'story.started.after': 'the journal has the attempt and its epoch; nothing of it exists',
  'prepare.before': 'scratch folders exist, no checkout',
  'prepare.after': 'the workspace is checked out',
  'setup.before': 'no setup command has run',
  'setup.after': 'setup is done',
  'agent.before': 'the agent has not been started',
  'agent.after': 'the agent has answered',
  'export.before': 'the work is in the volume alone',
  'export.after': 'the work is on the host, unchecked',
  'import.before': 'nothing is checked',
  'import.after': 'the commit exists in the scratch repository alone',
  'gates.before': 'no gate has run',
  'gates.after': 'all gates have passed',
  'proof.before': 'the record of what was proved is not written',
  'proof.after': 'the record is among the artifacts',
  'objects.before': 'the host repository has nothing of the commit',
  'objects.after': 'its objects are there, no branch has moved',
  'ref.before': 'the branch of the run is about to move',
  'ref.after': 'the branch has moved in the host repository alone',
  'mirror.after': 'the mirror has followed; the journal does not know it',
  'note.before': 'the landed commit has no note',
  'note.after': 'it has its note; the journal does not know that it landed',
  'story.ended.before': 'the verdict is not yet in the journal',
  'story.ended.after': 'the verdict is in the journal, nothing that follows from it is done',
  'close.before': 'nothing of the attempt is cleaned up',
  'close.after': 'everything of the attempt is cleaned up',
  'write-back.before': 'the user’s PRD file knows nothing of what landed',
  'write-back.written': 'the new PRD file lies beside the old one',
  'write-back.after': 'the PRD file is up to date',
  'enqueue.before': 'the next job is in the journal’s plan, not in the queue',
  'enqueue.after': 'the next job is queued',
  'job.done': 'everything is done, the queue does not know it',
  'run.ended.before': 'nothing is left to do, the journal does not say so',
  'run.ended.after': 'the run has ended; the branch of the user waits to be fast-forwarded',
  'ff.before': 'the user’s branch is about to be fast-forwarded',
  'ff.after': 'the user’s branch has moved; the journal does not know it',
  'word.before': 'what a person decided is not yet in the journal',
  'word.after': 'it is in the journal, nothing that follows from it is done',
} as const;

export type Failpoint = keyof typeof FAILPOINTS;

/** What a run must survive at each failpoint: the columns of the table in docs/reliability.md. */
export const FAULTS = ['kill', 'hang', 'throw', 'delay'] as const;
export type Fault = (typeof FAULTS)[number];

/** What happens at a failpoint. */
export interface ArmedFault {
  at: Failpoint;
  /** `block`: a loop in which the process does nothing else, not even renew its locks. */
  fault: Fault | 'block';
  /** How long a delay or a block takes. */
  ms: number;
  /** Only the n-th time that the process comes by; else every time. */
  nth: number | undefined;
}

const DELAY_MS = 1000;
const FORM = /^([a-z.-]+)(?:@([1-9]\d*))?:(?:(kill|hang|throw)|(delay|block)(?:=(\d+))?)$/;

/** Reads `<failpoint>[@n]:<kill|hang|throw|delay[=ms]|block[=ms]>`, several with commas. Throws CONFIG_INVALID. */
export function parseFailpoints(text: string): ArmedFault[] {
  return text.split(',').map((part) => {
    const [, at = '', nth, fault, lasting, ms] = FORM.exec(part.trim()) ?? [];
    const what = fault ?? lasting;
    if (what === undefined) {
      throw new HaloError('CONFIG_INVALID', `HALO_FAILPOINT: ${JSON.stringify(part.trim())} is no fault`, {
        hint: `Write <failpoint>:<${[...FAULTS, 'block'].join('|')}>, e.g. ref.before:kill, agent.after@2:throw or gates.before:delay=500.`,
      });
    }
    if (!isFailpoint(at)) {
      throw new HaloError('CONFIG_INVALID', `HALO_FAILPOINT: there is no failpoint ${at}`, {
        hint: `There are: ${namesLike(at).join(', ')}.`,
      });
    }
    return {
      at,
      fault: what as ArmedFault['fault'],
      ms: ms === undefined ? DELAY_MS : Number(ms),
      nth: nth === undefined ? undefined : Number(nth),
    };
  });
}

/** Those of a phase, where it was named alone; else all. */
function namesLike(at: string): string[] {
  const names = Object.keys(FAILPOINTS);
  const ofPhase = names.filter((name) => name.startsWith(`${at}.`));
  return ofPhase.length > 0 ? ofPhase : names;
}

function isFailpoint(name: string): name is Failpoint {
  return Object.hasOwn(FAILPOINTS, name);
}
