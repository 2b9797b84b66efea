import type { JSX } from 'preact';
import type { AttemptRecord } from '../../../core/journal/attempts.ts';
import { formatElapsed } from '../../../core/text/format-elapsed.ts';
import { safeLine, safeText } from '../../../core/text/safe-text.ts';
import { commandEnd, exitText } from '../../../core/transcript/excerpt.ts';
import { EmptyState, Problem } from '../../page/page-parts.tsx';
import { readText, useLoaded } from '../../page/read-server.ts';
import { SaveButton } from '../../page/save-button.tsx';
import { readPatch } from '../../../core/review/read-patch.ts';
import { FileLog } from '../log/file-log.tsx';
import { artifactUrl } from '../log/log-pages.ts';
import { commandsOf, type ShownCommand } from '../run-journal.ts';
import type { AttemptViewProps } from './attempt-props.ts';
import { PatchFiles } from './patch-files.tsx';

interface FileViewProps extends AttemptViewProps {
  /** Of the attempt among the artifacts; undefined until it is known. */
  folder: string | undefined;
  has: (name: string) => boolean;
  /** Of the attempt. */
  address: string;
  line: number | undefined;
}

/** The commands of setup and gates, and the log of one of them. */
export function GateLogs(props: FileViewProps & { chosen: string | undefined }): JSX.Element {
  const { attempt, run, folder, address, line, chosen } = props;
  const commands = commandsOf(attempt);
  const failed = commands.find((command) => command.at !== undefined && commandEnd(command).tone === 'bad');
  const log = chosen ?? (commands.find(({ at }) => at === undefined) ?? failed ?? commands.at(-1))?.log;
  const current = commands.find((command) => command.log === log);
  if (commands.length === 0 && log === undefined) return <EmptyState title="No command has run." />;
  return (
    <div class="gate-logs">
      <ul class="gate-list" aria-label="Commands">
        {commands.map((command) => (
          <li key={command.log}>
            <a
              href={`${address}/log/${encodeURIComponent(command.log)}`}
              aria-current={command.log === log ? 'true' : undefined}
            >
              <CommandMark command={command} />
              <span class="soft">
                {command.kind}
                {isEarlier(command, attempt) && ', earlier round'}
              </span>
              <code>{safeLine(command.command, 120)}</code>
              <span class="soft">
                {command.at !== undefined && commandEnd(command).tone === 'bad' && `${exitText(command.exitCode)} · `}
                {command.ms !== undefined && formatElapsed(command.ms)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {folder !== undefined && log !== undefined && (
        <FileLog
          key={log}
          runId={run.runId}
          path={`${folder}/${log}`}
          label={`Log of ${safeLine(current?.command ?? log, 80)}`}
          href={`${address}/log/${encodeURIComponent(log)}`}
          line={line}
          isLive={current !== undefined && current.at === undefined && run.status !== 'ended'}
        />
      )}
    </div>
  );
}

/** The gates have run again since, on another commit. */
function isEarlier({ kind, round }: ShownCommand, attempt: AttemptRecord): boolean {
  return kind === 'gate' && round !== undefined && round < attempt.round;
}

function CommandMark({ command }: { command: ShownCommand }): JSX.Element {
  if (command.at === undefined) return <b class="mark">● running</b>;
  const { mark, word, tone } = commandEnd(command);
  return (
    <b class={tone}>
      {mark} {word}
    </b>
  );
}

/** The prompt, and how many tokens its parts have. */
export function AttemptPrompt({ run, attempt, folder, has }: FileViewProps): JSX.Element {
  const path = folder !== undefined && has('prompt.md') ? `${folder}/prompt.md` : undefined;
  const { value, problem } = useLoaded(`${run.runId} ${path}`, async () =>
    path === undefined ? undefined : await readText(artifactUrl(run.runId, 'artifacts', path)),
  );
  const { prompt } = attempt;
  return (
    <>
      {prompt !== undefined && (
        <div class="table" tabIndex={0} role="region" aria-label="Parts of the prompt">
          <table>
            <thead>
              <tr>
                <th scope="col">Part</th>
                <th scope="col">Tokens</th>
                <th scope="col">Cut</th>
              </tr>
            </thead>
            <tbody>
              {prompt.sections.map(({ name, file, tokens, cut }, index) => (
                <tr key={index}>
                  <th scope="row">
                    {safeLine(name)} {file !== undefined && <code class="soft">{safeLine(file)}</code>}
                  </th>
                  <td>{tokens.toLocaleString('en')}</td>
                  <td class={cut === undefined ? 'soft' : 'warn'}>{cut?.toLocaleString('en') ?? '–'}</td>
                </tr>
              ))}
              <tr>
                <th scope="row">
                  <b>Together</b>{' '}
                  {prompt.maxTokens > 0 && <span class="soft">of at most {prompt.maxTokens.toLocaleString('en')}</span>}
                </th>
                <td>{prompt.tokens.toLocaleString('en')}</td>
                <td />
              </tr>
            </tbody>
          </table>
        </div>
      )}
      {problem !== undefined && <Problem problem={problem} />}
      {value !== undefined && (
        <pre class="output prompt" tabIndex={0} aria-label="Prompt">
          {safeText(value)}
        </pre>
      )}
      {value === undefined && prompt === undefined && <EmptyState title="There is no prompt yet." />}
    </>
  );
}

/** The change of an attempt, file by file; as the stored patch if it is too large for that, or to show a line of it. */
export function AttemptDiff({ run, attempt, folder, has, address, line }: FileViewProps): JSX.Element {
  const path = folder !== undefined && has('diff.patch') ? `${folder}/diff.patch` : undefined;
  const { value, problem } = useChanges(run.runId, line === undefined ? path : undefined);
  if (path === undefined) return <EmptyState title="The attempt has left no diff." />;
  const review = (
    <a class="button" href={`#/run/${run.runId}/diff/${encodeURIComponent(attempt.story)}`}>
      Review
    </a>
  );
  if (problem !== undefined || line !== undefined)
    return (
      <>
        <div class="section-head">
          {problem === undefined ? (
            <a href={`${address}/diff`}>Show the changed files</a>
          ) : (
            <span class="soft">{safeLine(problem.message)}</span>
          )}
          {review}
        </div>
        <FileLog runId={run.runId} path={path} label="Diff" href={`${address}/diff`} line={line} kind="diff" />
      </>
    );
  if (value === undefined) return <EmptyState title="Reading the diff …" />;
  if (value.lines.length === 0) return <EmptyState title="The attempt has changed no file." />;
  const links = (
    <>
      <SaveButton path={`${artifactUrl(run.runId, 'artifacts', path)}?whole=true`} />
      {review}
    </>
  );
  return <PatchFiles patch={value} links={links} />;
}

/** The files of a patch among the artifacts; a problem for one of more than 16 MiB. Undefined without a path. */
export function useChanges(runId: string, path: string | undefined) {
  return useLoaded(`changes ${runId} ${path}`, async () =>
    path === undefined ? undefined : readPatch(await readText(artifactUrl(runId, 'artifacts', path))),
  );
}
