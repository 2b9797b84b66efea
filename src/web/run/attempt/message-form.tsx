import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { canMessage } from '../../../core/run/actions.ts';
import { messageRoute, ROUTE_LABELS } from '../../../core/run/messages.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';
import type { MessageResult } from '../../../core/run/message-target.ts';
import { useKept } from '../../page/browser-storage.ts';
import { mayDo, Problem, useAction, type Person } from '../../page/page-parts.tsx';
import { runPath } from '../../page/read-server.ts';

interface MessageFormProps {
  run: RunState;
  story: StoryState;
  person: Person;
}

/** A message to the agent of a story; its label says where it goes. Only the button sends it, or Ctrl+Enter. */
export function MessageForm({ run, story, person }: MessageFormProps): JSX.Element | null {
  const [text, setText] = useKept(`halo-message ${run.runId} ${story.id}`, '');
  const [said, setSaid] = useState('');
  const {
    busy,
    problem,
    run: send,
  } = useAction(runPath(run.runId, '/tell'), (result) => {
    setText('');
    setSaid((result as MessageResult).says);
  });
  if (!mayDo(person, 'control', run.user) || canMessage(run, story) !== true) return null;
  const isReady = !busy && text.trim() !== '';
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void send({ story: story.id, text });
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (isReady) void send({ story: story.id, text });
      }}
    >
      <label>
        {ROUTE_LABELS[messageRoute(story)]}
        <textarea rows={2} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      </label>
      <div class="line">
        <button type="submit" disabled={!isReady} aria-busy={busy}>
          {busy ? 'Sending …' : 'Send the message'}
        </button>
        <span class="soft">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <span class="soft" role="status">
          {said}
        </span>
      </div>
      {problem !== undefined && <Problem problem={problem} />}
    </form>
  );
}
