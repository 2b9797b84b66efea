import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { exitText } from '../../core/transcript/excerpt.ts';
import { AnsiLine } from './log/ansi-line.tsx';
import { endOfOutput } from './end-of-output.ts';
import type { ShownCommand } from './run-journal.ts';

const MAX_TESTS = 5;
/** Lines that stay visible above the first error: the file with the line, the source, and the mark below it. */
const LINES_BEFORE = 4;

/** A command of setup or a gate that failed: its failed tests, then the command with the end of its output. */
export function FailedCommand({ command }: { command: ShownCommand }): JSX.Element {
  const { failed, ms } = command;
  return (
    <div class="failed-command">
      {failed !== undefined && (
        <ul class="failed-tests" aria-label="Failed tests">
          {failed.tests.slice(0, MAX_TESTS).map(({ name, place, message }, index) => (
            <li key={index}>
              <b class="bad" aria-hidden="true">
                ✗
              </b>{' '}
              <b>{safeLine(name)}</b> {place !== undefined && <code class="soft">{safeLine(place)}</code>}
              {message !== undefined && <div class="soft">{safeLine(message, 300)}</div>}
            </li>
          ))}
          {failed.count > MAX_TESTS && <li class="soft">{failed.count - MAX_TESTS} more</li>}
        </ul>
      )}
      <p class="line soft">
        <code class="command">{safeLine(command.command, 400)}</code>
        <span>{exitText(command.exitCode)}</span>
        {ms !== undefined && <span>after {formatElapsed(ms)}</span>}
      </p>
      <EndOfOutput tail={command.tail ?? ''} />
    </div>
  );
}

/** The end of an output, scrolled to its first error. */
function EndOfOutput({ tail }: { tail: string }): JSX.Element | null {
  const { lines, start, note } = endOfOutput(tail);
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    const line = box.current?.children[Math.max(0, start - LINES_BEFORE)];
    if (box.current && line instanceof HTMLElement) box.current.scrollTop = line.offsetTop - box.current.offsetTop;
  }, [tail, start]);
  if (lines.join('') === '') return null;
  return (
    <>
      {note !== undefined && <p class="soft">{note}</p>}
      <pre ref={box} class="output" tabIndex={0} aria-label="End of the output">
        {lines.map((line, index) => (
          <div key={index}>
            <AnsiLine text={line} />
          </div>
        ))}
      </pre>
    </>
  );
}
