import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { grantOf, OWNER, ROLES, type Access } from '../../core/access/access.ts';
import type { Unconfirmed } from '../../core/failure/errors.ts';
import { confirmationOfAll } from '../../core/review/flags.ts';
import { callServer, toRequestFailed, type RequestFailed } from './read-server.ts';
import { Modal } from './modal.tsx';

/** Who is signed in. */
export interface Person {
  name: string;
  role: string;
  /** Whether the person may use only some repositories, and so no operation that concerns all of them. */
  isRestricted: boolean;
}

/** A person with the role. The name of the owner of the server is the role. */
export function personText({ name, role }: Person): string {
  return role === OWNER ? name : `${name} · ${role}`;
}

/** Whether the role of a person includes an operation on a run of `owner`. The server checks it again. */
export function mayDo({ name, role }: Person, access: Access, owner?: string): boolean {
  if (role === OWNER) return true;
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

export function Problem({ problem, where }: { problem: RequestFailed; where?: string | undefined }): JSX.Element {
  return (
    <div class="notice bad" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint !== undefined && <p>{problem.hint}</p>}
      {where !== undefined && <p>Where: {where}</p>}
      {problem.retry !== undefined && (
        <div class="actions">
          <button type="button" onClick={problem.retry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  /** What is chosen, for screen readers. */
  label: string;
  options: readonly { value: T; name: string }[];
  value: T;
  onChange: (value: T) => void;
}

/** A choice of one of a few. */
export function ChoiceOfOne<T extends string>({ label, options, value, onChange }: ChoiceProps<T>): JSX.Element {
  return (
    <fieldset class="choice">
      <legend class="hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={label} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.name}
        </label>
      ))}
    </fieldset>
  );
}

/** A figure with its name. */
export function Figure({ name, value, more }: { name: string; value: string; more?: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="figure">{value}</dd>
      {more !== undefined && <dd class="soft">{more}</dd>}
    </div>
  );
}

/** A share of a whole, as a bar; the text beside it says the same. */
export function ShareBar({ share, tone = '' }: { share: number; tone?: '' | 'good' | 'warn' | 'bad' }): JSX.Element {
  return (
    <span class={`share ${tone}`} aria-hidden="true">
      <span style={{ width: `${Math.min(100, Math.max(0, share * 100))}%` }} />
    </span>
  );
}

interface TextTableProps {
  name: string;
  columns: readonly string[];
  children: ComponentChildren;
}

/** A table of texts, in a region that scrolls. */
export function TextTable({ name, columns, children }: TextTableProps): JSX.Element {
  return (
    <div class="table words" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface ActionButtonProps {
  label: string;
  /** Shown from the press until the page shows the effect: `Approving`. */
  doing: string;
  /** For screen readers, if the label does not say what it concerns; it starts with the label. */
  name?: string;
  path: string;
  body?: object;
  /** Asked in a window before the operation runs; its first line is the question. */
  question?: string;
  tone?: 'good' | 'bad';
  shortcut?: string;
  /** The place of the repository, which a person needs after a refusal. */
  where?: string;
  /** Called with the result of the operation. */
  onDone?: (result: unknown) => void;
}

/** A button that calls an operation, and shows why it failed. */
export function ActionButton(props: ActionButtonProps): JSX.Element {
  const { label, doing, name, path, body, question, tone, shortcut, where, onDone } = props;
  const [done, setDone] = useState<string>();
  const { busy, problem, sent, run } = useAction(path, (result) => {
    setDone(path);
    onDone?.(result);
  });
  useEffect(() => {
    if (done === undefined) return undefined;
    const timer = setTimeout(() => setDone(undefined), MAX_EFFECT_MS);
    return () => clearTimeout(timer);
  }, [done]);
  // After the answer of the server, the stream of the page shows the effect: another button, or none.
  const isActing = busy || done === path;
  const [isAsking, setAsking] = useState(false);
  const demanded = problem?.unconfirmed;
  const confirmation = demanded && confirmationOfAll(sent ?? {}, demanded);
  const [declined, setDeclined] = useState<Unconfirmed>();
  return (
    <>
      <button
        type="button"
        class={tone ?? ''}
        aria-label={name}
        aria-disabled={isActing}
        aria-busy={isActing}
        data-key={shortcut}
        aria-keyshortcuts={shortcut}
        onClick={() => {
          // With `disabled`, it would lose the focus.
          if (isActing) return;
          if (question === undefined) void run(body);
          else setAsking(true);
        }}
      >
        {isActing ? `${doing} …` : label}
        {shortcut !== undefined && !isActing && <kbd aria-hidden="true">{shortcut}</kbd>}
      </button>
      {isAsking && question !== undefined && (
        <QuestionDialog {...{ label, question, tone }} onYes={() => void run(body)} onClose={() => setAsking(false)} />
      )}
      {problem !== undefined && confirmation !== undefined && demanded !== declined && (
        <QuestionDialog
          {...{ label, tone }}
          question={problem.message}
          onYes={() => void run({ ...sent, ...confirmation })}
          onClose={() => setDeclined(demanded)}
        />
      )}
      {problem !== undefined && <Problem problem={problem} where={where} />}
    </>
  );
}

/** An effect that the page does not show within this time can be asked for again, in ms. */
const MAX_EFFECT_MS = 5_000;

/** Calls an operation. `busy` until it has answered; `sent` is the last body, also if the page has changed since. */
export function useAction(path: string, onDone?: (result: unknown) => void) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<RequestFailed>();
  const [sent, setSent] = useState<object>();
  const run = async (body?: object): Promise<void> => {
    setBusy(true);
    setSent(body);
    setProblem(undefined);
    try {
      const result = await callServer(path, body);
      onDone?.(result);
    } catch (error) {
      setProblem(toRequestFailed(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, sent, run };
}

interface QuestionDialogProps {
  label: string;
  question: string;
  tone: ActionButtonProps['tone'] | undefined;
  onYes: () => void;
  onClose: () => void;
}

/** Asks whether to run an operation that cannot be taken back. */
function QuestionDialog({ label, question, tone, onYes, onClose }: QuestionDialogProps): JSX.Element {
  const [title, ...lines] = question.split('\n');
  return (
    <Modal class="question" label={title} onClose={onClose}>
      {(close) => (
        <>
          <h2>{title}</h2>
          {lines.map((line) => (
            <p key={line}>{line}</p>
          ))}
          <div class="actions">
            <button type="button" onClick={close}>
              Back
            </button>
            <button
              type="button"
              class={tone ?? ''}
              onClick={() => {
                close();
                onYes();
              }}
            >
              {label}
            </button>
          </div>
        </>
      )}
    </Modal>
  );
}
