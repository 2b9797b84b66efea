import { HaloError } from './errors.ts';
import { closeSentence } from '../text/did-you-mean.ts';

/**
 * Places where HALO_FAILPOINT can inject a fault: before and after each phase and each durable write, in execution
 * order. test/chaos/faults.md lists the outcome of a fault at each.
 */
export const FAILPOINTS = {
  'submit.filled': 'the run directories are written to a temporary folder',
  'submit.ready': 'the run directories are complete, not yet renamed to their final names',
  'submit.listed': 'the runs are listed as open, and not all have their final names',
  'submit.placed': 'the run directories have their final names; nothing is queued',
  'job.taken': 'a worker has taken a job and done nothing yet',
  'run.started.before': 'the journal does not yet have `run.started`',
  'run.started.after': 'the journal has `run.started`',
  'story.started.before': 'an attempt is planned, and not yet in the journal',
  'story.started.after': 'the journal has the attempt and its epoch; no resources exist',
  'prepare.before': 'scratch folders exist, no checkout',
  'prepare.after': 'the workspace is checked out',
  'setup.before': 'no setup command has run',
  'snapshot.setup': 'the volume of a snapshot has the checkout; setup has not run in it',
  'snapshot.seal': 'setup has run in the volume; its files are about to be prepared for other users',
  'snapshot.before': 'the volume of a snapshot is complete; no record names it',
  'snapshot.after': 'the record names the volume; no workspace has started with it',
  'setup.after': 'setup has finished',
  'tests.before': 'no agent has written tests of the story',
  'tests.after': 'the tests are written, and only in the volume',
  'red.before': 'the tests have not run',
  'red.after': 'the tests are locked; nothing is implemented',
  'agent.before': 'the agent has not started',
  'agent.after': 'the agent has answered',
  'export.before': 'the result is only in the volume',
  'export.after': 'the result is on the host, unchecked',
  'import.before': 'nothing is checked',
  'import.after': 'the commit is only in the scratch repository',
  'gates.before': 'no gate has run',
  'gates.after': 'all gates have passed',
  'refactor.before': 'the gates have passed, no agent has refactored the change',
  'refactor.after': 'a refactored change has passed the gates, or is dropped',
  'review.before': 'the gates have passed, no reviewer has started',
  'review.after': 'the review is in the journal; nothing follows from it yet',
  'proof.before': 'the proof is not written',
  'proof.after': 'the proof is among the artifacts',
  'objects.before': 'the host repository has no object of the commit',
  'objects.after': 'the host repository has the objects; no branch has moved',
  'ref.before': 'the branch of the run has not moved',
  'ref.after': 'the branch has moved in the host repository only',
  'mirror.after': 'the branch has moved in the mirror, too; the journal does not have it',
  'note.before': 'the landed commit has no note',
  'note.after': 'the landed commit has its note; the journal does not have the landing',
  'story.ended.before': 'the verdict is not yet in the journal',
  'story.ended.after': 'the verdict is in the journal; nothing after it is done',
  'close.before': 'nothing of the attempt is cleaned up',
  'close.after': 'everything of the attempt is cleaned up',
  'write-back.before': 'the user’s PRD file has no mark for the passed story',
  'write-back.written': 'the new PRD file is next to the old one',
  'write-back.after': 'the PRD file is up to date',
  'enqueue.before': 'the next job is planned, not queued',
  'enqueue.after': 'the next job is queued',
  'job.done': 'everything is done; the queue still has the job',
  'run.ended.before': 'nothing is left to do; the journal does not have `run.ended`',
  'run.ended.after': 'the run has ended; the user’s branch is not yet fast-forwarded',
  'ff.before': 'the user’s branch is about to be fast-forwarded',
  'ff.after': 'the user’s branch has moved; the journal does not have it',
  'report.before': 'an issue does not show the state of its story',
  'report.labelled': 'the issue has the new label, no comment, and still the old label',
  'report.posting': 'it is recorded that the comment is being posted; the forge does not have it',
  'report.posted': 'the forge has the comment; the issue still has the old label',
  'report.shown': 'the issue shows the state of its story; this is not recorded',
  'report.recorded': 'it is recorded what the issue shows',
  'report.closed': 'the issue is closed; this is not recorded',
  'command.before': 'a user’s command is not yet in the journal',
  'command.after': 'the command is in the journal; it has had no effect yet',
  'prune.before': 'retention has chosen a run; nothing is removed',
  'prune.noted': 'the journal has the removal of the artifacts; they still exist',
  'prune.moved': 'a removed run has a temporary name; its files still exist',
  'prune.after': 'everything that retention chose is removed; the time of the next removal is not recorded',
  'backup.written': 'the backup is complete under a temporary name',
  'restore.verified': 'everything is unpacked and verified under a temporary name',
  'restore.moving': 'a part of what was restored has its final name',
} as const;

export type Failpoint = keyof typeof FAILPOINTS;

/** What a run must survive at each failpoint: the columns of the table in test/chaos/faults.md. */
export const FAULTS = ['kill', 'hang', 'throw', 'delay'] as const;
export type Fault = (typeof FAULTS)[number];

/** What happens at a failpoint. */
export interface ArmedFault {
  at: Failpoint;
  /** `hold`: it waits for SIGUSR2. `block`: a busy loop, in which the process cannot even renew its locks. */
  fault: Fault | 'hold' | 'block';
  /** How long a delay or a block takes. */
  ms: number;
  /** Fires only when the process passes for the nth time; undefined: every time. */
  nth: number | undefined;
}

const DELAY_MS = 1000;
const FORM = /^([a-z.-]+)(?:@([1-9]\d*))?:(?:(kill|hang|hold|throw)|(delay|block)(?:=(\d+))?)$/;

/** Reads `<failpoint>[@n]:<kill|hang|hold|throw|delay[=ms]|block[=ms]>`, several with commas. Throws CONFIG_INVALID. */
export function parseFailpoints(text: string): ArmedFault[] {
  return text.split(',').map((part) => {
    const [, at = '', nth, fault, lasting, ms] = FORM.exec(part.trim()) ?? [];
    const what = fault ?? lasting;
    if (what === undefined) {
      throw new HaloError('CONFIG_INVALID', `HALO_FAILPOINT: ${JSON.stringify(part.trim())} is not a fault.`, {
        hint: `Write <failpoint>:<${[...FAULTS, 'hold', 'block'].join('|')}>, e.g. ref.before:kill, agent.after@2:throw or gates.before:delay=500.`,
      });
    }
    if (!isFailpoint(at)) {
      const names = namesLike(at);
      throw new HaloError('CONFIG_INVALID', `HALO_FAILPOINT: there is no failpoint ${at}${closeSentence(at, names)}`, {
        hint: `Use one of: ${names.join(', ')}.`,
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

/** Names to suggest for an unknown failpoint: those of the phase that `at` names; otherwise all. */
function namesLike(at: string): string[] {
  const names = Object.keys(FAILPOINTS);
  const ofPhase = names.filter((name) => name.startsWith(`${at}.`));
  return ofPhase.length > 0 ? ofPhase : names;
}

function isFailpoint(name: string): name is Failpoint {
  return Object.hasOwn(FAILPOINTS, name);
}
