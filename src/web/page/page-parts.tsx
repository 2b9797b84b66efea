import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { grantOf, ROLES, type Access } from '../../core/access/access.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { callServer, toRequestFailed, type RequestFailed } from './read-server.ts';

/** What the page of the server says of a person with the token of the server. */
const OWNER_ROLE = 'owner of the server';

/** Who is signed in. */
export interface Person {
  name: string;
  role: string;
}

/** Whether the role of a person includes an operation on a run of `owner`. The server checks it again. */
export function mayDo({ name, role }: Person, access: Access, owner?: string): boolean {
  if (role === OWNER_ROLE) return true;
  const known = ROLES.find((each) => each === role);
  const grant = known === undefined ? 'none' : grantOf(known, access);
  return grant === 'all' || (grant === 'own' && owner === name);
}

/** A message in place of content. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="notice">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

export function Problem({ problem }: { problem: RequestFailed }): JSX.Element {
  return (
    <div class="notice bad" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint !== undefined && <p>{problem.hint}</p>}
    </div>
  );
}

/** Time since `from`, as of `now`, both in ISO 8601. */
export function Elapsed({ from, now }: { from: string; now: string }): JSX.Element {
  return <time dateTime={from}>{formatElapsed(Math.max(0, Date.parse(now) - Date.parse(from)))}</time>;
}

interface ActionButtonProps {
  label: string;
  path: string;
  body?: object;
  /** Asked before the operation runs. */
  question?: string;
  tone?: 'good' | 'bad';
  shortcut?: string;
  /** Called with the result of the operation. */
  onDone?: (result: unknown) => void;
}

/** A button that calls an operation, and shows why it failed. */
export function ActionButton({ label, path, body, question, tone, shortcut, onDone }: ActionButtonProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<RequestFailed>();
  const run = async () => {
    if (question !== undefined && !confirm(question)) return;
    setBusy(true);
    setProblem(undefined);
    try {
      onDone?.(await callServer(path, body));
    } catch (error) {
      setProblem(toRequestFailed(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class={tone ?? ''}
        disabled={busy}
        data-key={shortcut}
        aria-keyshortcuts={shortcut}
        onClick={() => void run()}
      >
        {label}
        {shortcut !== undefined && <kbd aria-hidden="true">{shortcut}</kbd>}
      </button>
      {problem !== undefined && <Problem problem={problem} />}
    </>
  );
}
