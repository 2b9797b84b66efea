import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Submitted } from '../../api/operations/requests.ts';
import { formatUsd } from '../../core/budget.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { Percentiles, PrdEstimate } from '../../core/report/estimate.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { EmptyState, mayDo, Problem, type Person } from '../page/page-parts.tsx';
import { callServer, RequestFailed, toRequestFailed, type Loaded } from '../page/read-server.ts';

/** Time without typing, after which the server validates the text. */
const PAUSE_MS = 400;

/** A PRD in a request. */
interface TypedPrd {
  path: string;
  content: string;
}

/** Submits a PRD, which the server validates while it is typed. */
export function SubmitScreen({ person }: { person: Person }): JSX.Element {
  const [path, setPath] = useState('prd');
  const [text, setText] = useState('');
  const [unreadable, setUnreadable] = useState<RequestFailed>();
  const [repo, setRepo] = useState('');
  const source = repo.trim();
  const typed = useMemo(() => toTypedPrd(path, text), [path, text]);
  const checked = useAnswer<{ prd: Prd }>('/v1/prds/validate', text.trim() !== '' && { prd: typed });
  const prd = checked.value?.prd;
  const estimated = useAnswer<PrdEstimate>(
    '/v1/prds/estimate',
    prd !== undefined && source !== '' && { prd: typed, repo: source },
  );
  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    try {
      setText(new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()));
      setPath(file.name);
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
          File of the PRD
          <input type="file" onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])} />
        </label>
        <label>
          PRD
          <textarea
            rows={14}
            spellcheck={false}
            placeholder="Choose a file, or paste its content here"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label>
          Repository
          <input
            type="text"
            placeholder="A URL, or a path on the server"
            value={repo}
            onInput={({ currentTarget }) => setRepo(currentTarget.value)}
          />
        </label>
      </div>
      <div aria-live="polite">
        {unreadable !== undefined && <Problem problem={unreadable} />}
        {checked.problem !== undefined && <Problem problem={checked.problem} />}
        {prd !== undefined && <CheckedPrd prd={prd} />}
        {estimated.problem !== undefined && <Problem problem={estimated.problem} />}
        {estimated.value !== undefined && <EstimateTable estimate={estimated.value} />}
      </div>
      {mayDo(person, 'submit') ? (
        <SubmitButton prd={prd === undefined ? undefined : typed} repo={source} />
      ) : (
        <p class="soft">Your role does not include submitting.</p>
      )}
    </>
  );
}

/** The base64 of the text in UTF-8. */
function toTypedPrd(path: string, text: string): TypedPrd {
  const bytes = new TextEncoder().encode(text);
  return { path, content: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
}

/** What the server answers to a request, once the person has stopped typing. `false`: nothing is sent. */
function useAnswer<T>(path: string, body: object | false): Loaded<T> {
  const [answer, setAnswer] = useState<Loaded<T>>({});
  const key = JSON.stringify(body);
  useEffect(() => {
    let isCurrent = true;
    setAnswer({});
    if (body === false) return;
    const timer = setTimeout(() => {
      callServer<T>(path, body).then(
        (value) => isCurrent && setAnswer({ value }),
        (problem: unknown) => isCurrent && setAnswer({ problem: toRequestFailed(problem) }),
      );
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
  return answer;
}

function CheckedPrd({ prd: { dialect, stories, warnings } }: { prd: Prd }): JSX.Element {
  return (
    <section aria-label="Stories of the PRD">
      <h2>
        {stories.length} {stories.length === 1 ? 'story' : 'stories'} <span class="soft">{dialect}</span>
      </h2>
      {warnings.map((warning) => (
        <p key={warning} class="said warn">
          {warning}
        </p>
      ))}
      <ul class="rows">
        {stories.map(({ id, title, status, acceptance }) => (
          <li key={id}>
            <b>{id}</b> {title} <span class="soft">{status}</span>
            {acceptance.length === 0 && <span class="warn"> no acceptance criteria</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function EstimateTable({ estimate: { stories, basis, costUsd, minutes, notes } }: { estimate: PrdEstimate }) {
  const rows: [string, Percentiles | undefined, (value: number) => string][] = [
    ['Cost', costUsd?.sum, formatUsd],
    ['Time', minutes?.sum, (value) => formatElapsed(value * 60_000)],
  ];
  return (
    <section aria-label="Estimate">
      <h2>Estimate</h2>
      {minutes !== undefined && (
        <div class="table" tabIndex={0} role="region" aria-label="Estimated cost and time">
          <table>
            <thead>
              <tr>
                <th scope="col">
                  {stories} open, from {basis.stories} earlier stories
                </th>
                <th scope="col">Low (10 %)</th>
                <th scope="col">Median</th>
                <th scope="col">High (90 %)</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(
                ([name, range, format]) =>
                  range !== undefined && (
                    <tr key={name}>
                      <th scope="row">{name}</th>
                      <td>{format(range.low)}</td>
                      <td>{format(range.median)}</td>
                      <td>{format(range.high)}</td>
                    </tr>
                  ),
              )}
            </tbody>
          </table>
        </div>
      )}
      {notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
    </section>
  );
}

/** Submits a valid PRD. The key lets a second request, such as after a broken connection, return the same run. */
function SubmitButton({ prd, repo }: { prd: TypedPrd | undefined; repo: string }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<{ input?: string; run?: Submitted | undefined; problem?: RequestFailed }>({});
  const input = JSON.stringify({ prd, repo });
  const key = useMemo(randomKey, [input]);
  const submit = async () => {
    setBusy(true);
    setResult({});
    try {
      const body = { prd, repos: [repo], set: [], allowDirty: false, key };
      const { runs } = await callServer<{ runs: Submitted[] }>('/v1/runs', body);
      setResult({ input, run: runs[0] });
    } catch (error) {
      setResult({ problem: toRequestFailed(error) });
    } finally {
      setBusy(false);
    }
  };
  const { run, problem } = result;
  return (
    <>
      <div class="actions">
        <button
          type="button"
          class="good"
          disabled={busy || prd === undefined || repo === '' || result.input === input}
          onClick={() => void submit()}
        >
          Submit
        </button>
      </div>
      <div role="status">
        {run !== undefined && (
          <EmptyState title="The run was submitted.">
            <a href={`#/run/${run.runId}`}>Open run {run.runId}</a>
            {[...run.warnings, ...(run.unqueued === undefined ? [] : [run.unqueued])].map((text) => (
              <span key={text} class="said warn">
                {text}
              </span>
            ))}
          </EmptyState>
        )}
      </div>
      {problem !== undefined && <Problem problem={problem} />}
    </>
  );
}

function randomKey(): string {
  return `web-${[...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-')}`;
}
