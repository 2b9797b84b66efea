import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Submitted } from '../../api/operations/schemas.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { JSON_EXAMPLE, MARKDOWN_EXAMPLE } from '../../core/prd/prd-examples.ts';
import { keep, readKept } from '../page/browser-storage.ts';
import { EmptyState, mayDo, Problem, type Person } from '../page/page-parts.tsx';
import { callServer, RequestFailed, toRequestFailed } from '../page/read-server.ts';
import { CheckedPrd, PrdProblems, RepoEstimate } from './checked-prd.tsx';
import { KnownRepositories } from './known-repositories.tsx';
import { NO_OPTIONS, SubmitOptionsForm, toSubmitOptions, type TypedOptions } from './submit-options.tsx';
import { toTypedPrd, useAnswer, type TypedPrd } from './typed-prd.ts';

/** What is typed, which the browser keeps until it is submitted. */
interface Draft {
  path: string;
  text: string;
  repo: string;
  /** Known repositories that are chosen. */
  chosen: string[];
  options: TypedOptions;
}

const EMPTY: Draft = { path: 'prd', text: '', repo: '', chosen: [], options: NO_OPTIONS };
const KEY = 'halo-submit';
/** A name with the ending of its format. */
const EXAMPLES = [
  { format: 'JSON', path: 'prd.json', text: JSON.stringify(JSON.parse(JSON_EXAMPLE), null, 2) },
  { format: 'Markdown', path: 'prd.md', text: MARKDOWN_EXAMPLE },
];

interface SubmitProps {
  person: Person;
  runs: readonly ListedRun[];
}

/** Submits a PRD to one or several repositories, for people whose role includes it. */
export function SubmitScreen({ person, runs }: SubmitProps): JSX.Element {
  if (mayDo(person, 'submit')) return <SubmitForm runs={runs} />;
  return (
    <>
      <h1>Submit</h1>
      <p class="soft">Your role does not include submitting.</p>
    </>
  );
}

/** The server validates the PRD while it is typed. */
function SubmitForm({ runs }: Pick<SubmitProps, 'runs'>): JSX.Element {
  const [draft, setDraft] = useState(readDraft);
  const [unreadable, setUnreadable] = useState<RequestFailed>();
  const [isOver, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const { path, text, chosen, options } = draft;
  const change = (next: Partial<Draft>) => setDraft((before) => ({ ...before, ...next }));
  useEffect(() => keep(KEY, draft === EMPTY ? undefined : JSON.stringify(draft)), [draft]);
  const known = useMemo(() => [...new Set(runs.map((run) => run.repo.source))], [runs]);
  const typedRepo = draft.repo.trim();
  const repos = [...new Set([...chosen, ...(typedRepo === '' ? [] : [typedRepo])])];
  const typed = useMemo(() => toTypedPrd(path, text), [path, text]);
  const checked = useAnswer<{ prd: Prd }>('/v1/prds/validate', text.trim() !== '' && { prd: typed });
  const prd = checked.value?.prd;
  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    try {
      change({ text: new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()), path: file.name });
      setUnreadable(undefined);
    } catch {
      setUnreadable(new RequestFailed(`${file.name} is not text in UTF-8.`, 'Save it as UTF-8, and choose it again.'));
    }
  };
  return (
    <>
      <h1>Submit</h1>
      <div class="form">
        <label>
          PRD file
          <input type="file" onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])} />
        </label>
        <div>
          <div class="line field-head">
            <label for="prd">PRD</label>
            {text.trim() === '' &&
              EXAMPLES.map(({ format, path, text }) => (
                <button key={format} type="button" class="link" onClick={() => change({ path, text })}>
                  Insert an example in {format}
                </button>
              ))}
          </div>
          <textarea
            id="prd"
            ref={field}
            class={isOver ? 'drop' : ''}
            rows={14}
            spellcheck={false}
            placeholder="Drop a file here, choose one above, or paste its content"
            value={text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={(event) => {
              event.preventDefault();
              setOver(false);
              void choose(event.dataTransfer?.files[0]);
            }}
          />
          <div aria-live="polite">
            {unreadable !== undefined && <Problem problem={unreadable} />}
            {checked.problem !== undefined && (
              <PrdProblems problem={checked.problem} onLine={(line) => showLine(field.current, line)} />
            )}
          </div>
        </div>
        <KnownRepositories {...{ known, chosen }} onChange={(next) => change({ chosen: next })} />
        <label>
          {known.length > 0 ? 'Another repository' : 'Repository'}
          <input
            type="text"
            placeholder="A URL, or a path on the server"
            value={draft.repo}
            onInput={({ currentTarget }) => change({ repo: currentTarget.value })}
          />
        </label>
        <SubmitOptionsForm options={options} onChange={(next) => change({ options: next })} />
      </div>
      <SubmitButton
        prd={prd === undefined ? undefined : typed}
        repos={repos}
        options={options}
        onDone={() => setDraft(EMPTY)}
      />
      <div aria-live="polite">
        {prd !== undefined && repos.map((repo) => <RepoEstimate key={repo} prd={typed} repo={repo} />)}
        {prd !== undefined && <CheckedPrd prd={prd} />}
      </div>
    </>
  );
}

/** Moves the cursor of a text field to a line, and selects the line. */
function showLine(field: HTMLTextAreaElement | null, line: number): void {
  if (field === null) return;
  const lines = field.value.split('\n');
  const from = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  field.focus();
  field.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  field.scrollTop = (field.scrollHeight * Math.max(0, line - 3)) / lines.length;
}

/** What was typed before; nothing if the browser does not know it, or if another version of halo wrote it. */
function readDraft(): Draft {
  try {
    const kept = JSON.parse(readKept(KEY) ?? '') as Partial<Draft>;
    return { ...EMPTY, ...kept, options: { ...NO_OPTIONS, ...kept.options } };
  } catch {
    return EMPTY;
  }
}

interface SubmitButtonProps {
  prd: TypedPrd | undefined;
  repos: readonly string[];
  options: TypedOptions;
  onDone: () => void;
}

/** Submits a valid PRD. The key lets a second request, such as after a broken connection, return the same runs. */
function SubmitButton({ prd, repos, options, onDone }: SubmitButtonProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<{ runs?: readonly Submitted[]; problem?: RequestFailed }>({});
  const input = JSON.stringify({ prd, repos, options });
  const key = useMemo(randomKey, [input]);
  const submit = async () => {
    setBusy(true);
    setResult({});
    try {
      const body = { prd, repos, ...toSubmitOptions(options), key };
      const { runs } = await callServer<{ runs: Submitted[] }>('/v1/runs', body);
      setResult({ runs });
      onDone();
    } catch (error) {
      setResult({ problem: toRequestFailed(error) });
    } finally {
      setBusy(false);
    }
  };
  const { runs = [], problem } = result;
  return (
    <>
      <div class="actions">
        <button
          type="button"
          class="good"
          disabled={busy || prd === undefined || repos.length === 0}
          onClick={() => void submit()}
        >
          {repos.length > 1 ? `Submit ${repos.length} runs` : 'Submit'}
        </button>
        {prd !== undefined && repos.length === 0 && <span class="soft">Choose a repository.</span>}
      </div>
      <div role="status">
        {runs.map((run) => (
          <EmptyState key={run.runId} title="The run was submitted.">
            <a href={`#/run/${run.runId}`}>Open run {run.runId}</a>
            {[...run.warnings, ...(run.unqueued === undefined ? [] : [run.unqueued])].map((text) => (
              <span key={text} class="said warn">
                {text}
              </span>
            ))}
          </EmptyState>
        ))}
      </div>
      {problem !== undefined && <Problem problem={problem} />}
    </>
  );
}

function randomKey(): string {
  return `web-${[...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-')}`;
}
