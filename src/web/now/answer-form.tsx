import { INBOX } from '../../view/inbox.ts';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKept } from '../page/browser-storage.ts';
import { Problem, useAction } from '../page/page-parts.tsx';

interface AnswerFormProps {
  path: string;
  story: string;
  /** Identifies the question; the browser keeps its answer until it is sent. */
  question: string;
  options: readonly string[];
  onDone: (result: unknown) => void;
}

/** An answer to a question of an agent: typed, or one of its options. Only the button sends it, or Ctrl+Enter. */
export function AnswerForm({ path, story, question, options, onDone }: AnswerFormProps): JSX.Element {
  const [text, setText] = useKept(`halo-answer ${question}`, '');
  /** Counts choices, after each of which the button has the focus. */
  const [choices, setChoices] = useState(0);
  const button = useRef<HTMLButtonElement>(null);
  const { busy, problem, run } = useAction(path, (result) => {
    setText('');
    onDone(result);
  });
  useEffect(() => {
    if (choices > 0) button.current?.focus();
  }, [choices]);
  const isEmpty = text.trim() === '';
  const option = options.indexOf(text);
  const send = () => {
    if (!busy && !isEmpty) void run(option === -1 ? { story, text } : { story, option: option + 1 });
  };
  return (
    <div
      class="answer"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        send();
      }}
    >
      {options.length > 0 && (
        <div class="line" role="group" aria-label={`Proposed answers to ${story}`}>
          {options.map((each, index) => (
            <button
              key={index}
              type="button"
              aria-pressed={index === option}
              data-key={index < 9 ? String(index + 1) : undefined}
              onClick={() => {
                setText(each);
                setChoices(choices + 1);
              }}
            >
              {each}
              {index < 9 && <kbd aria-hidden="true">{index + 1}</kbd>}
            </button>
          ))}
        </div>
      )}
      <label>
        Answer to {story}
        <textarea rows={2} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      </label>
      <div class="line">
        <button type="button" class="good" ref={button} disabled={busy || isEmpty} aria-busy={busy} onClick={send}>
          {busy ? `${INBOX.answer.doing} …` : INBOX.answer.button}
        </button>
        <span class="soft">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
      </div>
      {problem !== undefined && <Problem problem={problem} />}
    </div>
  );
}
