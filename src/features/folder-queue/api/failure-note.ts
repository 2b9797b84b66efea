import { basename, join } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { isQuestion } from '../../../core/run/questions.ts';
import type { RunState } from '../../../core/run/state.ts';
import type { FolderRecord } from './folder-records.ts';

/** The note beside a PRD that failed. */
export function notePathOf(folder: string, name: string): string {
  return join(folder, `${name}.failed.txt`);
}

/** How a run that did not succeed ended. */
export function runFailureOf({ runId, stopReason, detail, stories }: RunState): HaloError {
  const isAsked = stopReason === 'NEEDS_HUMAN' && stories.some(isQuestion);
  const hint = `Answer the question with \`halo answer ${runId} "…"\`; the next \`halo queue\` continues with the run.`;
  return new HaloError(
    'INTERNAL',
    `Run ${runId} ended with ${stopReason ?? '?'}: ${detail ?? ''}`,
    isAsked ? { hint } : {},
  );
}

/** Why the PRD failed, and what a user can do. */
export function describeFailure({ runId }: FolderRecord, { message, hint = '' }: HaloError): string {
  const next =
    runId === undefined
      ? 'Fix the file; it is then queued again.'
      : `See \`halo status ${runId}\`. Continue the run with \`halo retry ${runId}\`, or remove this note, or change the PRD, to run it again.`;
  return `${[message, hint, next].filter((line) => line !== '').join('\n')}\n`;
}

/** Says that a PRD failed before. `skip`: the queue continues with the next one. */
export function describeFailedBefore({ name, runId }: FolderRecord, skip: boolean): string {
  const note = basename(notePathOf('', name));
  if (skip) return `${name} failed before; see ${note}.`;
  const retry = runId === undefined ? '' : `continue its run with \`halo retry ${runId}\`, `;
  return `${name} failed before (${note}): ${retry}change the file or remove the note to run it again, or pass \`--on-failure skip\` to run the PRDs after it.`;
}
