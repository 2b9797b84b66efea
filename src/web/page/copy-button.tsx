import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { commandOf, type NextStep } from '../../core/run/next-steps.ts';

interface CopyButtonProps {
  text: string;
  /** What it is, for screen readers and the title: `the run id`. */
  name: string;
}

const SHOWN_MS = 2_000;
const SHEETS = 'M5.5 5.5h8v8h-8z M10.5 5.5v-3h-8v8h3';
const CHECK = 'M3 8.5l3.5 3.5l7-8';

/** Copies a text to the clipboard, and says so. */
export function CopyButton({ text, name }: CopyButtonProps): JSX.Element {
  const [copied, setCopied] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setCopied(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const isCopied = copied === text;
  return (
    <button
      type="button"
      class="copy"
      title={`Copy ${name}`}
      aria-label={isCopied ? `Copied ${name}` : `Copy ${name}`}
      onClick={() => {
        copy(text).then(
          () => setCopied(text),
          () => undefined,
        );
      }}
    >
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={isCopied ? CHECK : SHEETS} />
      </svg>
    </button>
  );
}

/** A server without TLS on another machine has no clipboard in its pages, only the selection. Throws if neither works. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement('textarea'), { value: text });
    const focused = document.activeElement as HTMLElement | null;
    (focused?.closest('dialog') ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    focused?.focus();
    if (!isCopied) throw new Error('the browser refused to copy');
  }
}

/** A command line with a button that copies it. */
export function Command({ line, children }: { line: string; children?: string }): JSX.Element {
  return (
    <span class="command">
      <code>{line}</code> <CopyButton text={line} name={line} /> {children}
    </span>
  );
}

/** The commands of a shell that do the same as the page. */
export function ShellCommands({ steps }: { steps: readonly Omit<NextStep, 'why'>[] }): JSX.Element | null {
  const lines = [...new Set(steps.map(commandOf))];
  if (lines.length === 0) return null;
  return (
    <details class="shell">
      <summary>In the shell</summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>
            <Command line={line} />
          </li>
        ))}
      </ul>
    </details>
  );
}
