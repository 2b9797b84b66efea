import type { JSX } from 'preact';
import type { RunView } from '../../api/operations/runs.ts';
import type { LandedRun } from '../../core/run/control-result.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { ACTION_KEYS } from '../../view/action-keys.ts';
import { movedText } from '../../view/facts.ts';
import { INBOX } from '../../view/inbox.ts';
import { Command } from '../page/copy-button.tsx';
import { ActionButton } from '../page/page-parts.tsx';
import { readJson, runPath, useLoaded } from '../page/read-server.ts';
import { askToLand, confirmationOf, describeLanding, flaggedOf } from './review-actions.tsx';

interface LandActionProps {
  run: RunState;
  story?: StoryState | undefined;
  /** The place of the repository, which a person needs after a refusal. */
  where?: string;
  /** Says what was done. */
  onDone?: (text: string) => void;
}

/** Lands a run, or says why its branch cannot be fast-forwarded and what to do instead. */
export function LandAction({ run, story, where, onDone }: LandActionProps): JSX.Element {
  const { runId, tip } = run;
  const { value } = useLoaded(`moved ${runId} ${tip}`, () => readJson<RunView>(runPath(runId)), true);
  const flagged = flaggedOf(run, story);
  if (value?.moved !== undefined)
    return (
      <p class="said warn">
        {movedText(value.moved)} Merge it: <Command line={`git merge halo/${runId}`} />
      </p>
    );
  return (
    <ActionButton
      label={INBOX.land.button}
      doing={INBOX.land.doing}
      shortcut={ACTION_KEYS.land}
      tone="good"
      path={runPath(runId, '/land')}
      body={confirmationOf(flagged)}
      question={askToLand(runId, flagged)}
      {...(where !== undefined && { where })}
      onDone={(result) => onDone?.(describeLanding(result as LandedRun))}
    />
  );
}
