import type { JSX } from 'preact';
import { JUDGED } from '../../core/review/agent-review.ts';
import { isTested, type TestFinding } from '../../core/review/criteria.ts';
import { isTestPath, type StoryReview } from '../../core/review/review.ts';
import { safeText } from '../../core/text/safe-text.ts';
import type { PatchFile } from '../../core/review/read-patch.ts';
import { Fact } from './facts/fact.tsx';
import type { Place } from './review-state.ts';

interface CriteriaListProps {
  criteria: StoryReview['criteria'];
  files: readonly PatchFile[];
  onShow: (place: Place) => void;
}

const FINDINGS: Record<TestFinding, { text: string; tone: string }> = {
  ran: { text: 'ran and passed', tone: 'good' },
  skipped: { text: 'skipped', tone: 'warn' },
  missing: { text: 'not in the report of the gates', tone: 'warn' },
  unknown: { text: 'unknown: the gates report no tests', tone: 'soft' },
};

/** The acceptance criteria, the tests and files that the agent names for each, and where the diff changes them. */
export function CriteriaList({ criteria, files, onShow }: CriteriaListProps): JSX.Element | null {
  if (criteria.length === 0) return null;
  const tested = criteria.filter(isTested).length;
  return (
    <Fact
      title={`${tested} of ${criteria.length} criteria with tests that ran`}
      tone={tested === criteria.length ? 'good' : 'warn'}
      isOpen={criteria.some(isNamed)}
    >
      <ol class="criteria">
        {criteria
          .map((criterion) => ({ locked: [], ...criterion }))
          .map((criterion) => {
            const { n, text, claim, locked, judged } = criterion;
            return (
              <li key={n}>
                <p class="criterion">
                  <span class={`mark-${isTested(criterion) ? 'good' : 'warn'}`} aria-hidden="true" />
                  <span>
                    {n}. {safeText(text)}
                  </span>
                </p>
                <ul>
                  {locked.map((name) => (
                    <Named key={`locked ${name}`} name={name} place={findTestPlace(files, name)} onShow={onShow}>
                      <span class="good">locked: failed before the change, passed after it</span>
                    </Named>
                  ))}
                  {claim?.tests
                    .filter(({ name }) => !locked.includes(name))
                    .map(({ name, found }) => (
                      <Named key={`test ${name}`} name={name} place={findTestPlace(files, name)} onShow={onShow}>
                        <span class={FINDINGS[found].tone}>{FINDINGS[found].text}</span>
                      </Named>
                    ))}
                  {claim?.files.map((name) => (
                    <Named key={`file ${name}`} name={name} place={findFilePlace(files, name)} onShow={onShow} />
                  ))}
                  {!isNamed(criterion) && <li class="warn">No test named by the agent.</li>}
                  {judged !== undefined && <li class={judged === 'yes' ? 'soft' : 'warn'}>{JUDGED[judged]}</li>}
                </ul>
              </li>
            );
          })}
      </ol>
    </Fact>
  );
}

/** Whether anything is named that satisfies the criterion. */
function isNamed({ claim, locked = [] }: StoryReview['criteria'][number]): boolean {
  return (claim?.tests.length ?? 0) + (claim?.files.length ?? 0) + locked.length > 0;
}

interface NamedProps {
  name: string;
  place: Place | undefined;
  onShow: (place: Place) => void;
  children?: JSX.Element;
}

/** A test or file, with a link to its change. */
function Named({ name, place, onShow, children }: NamedProps): JSX.Element {
  return (
    <li class="line">
      {place === undefined ? (
        <>
          <code>{safeText(name)}</code> <span class="soft">not changed in this diff</span>
        </>
      ) : (
        <button type="button" class="link" onClick={() => onShow(place)}>
          <code>{safeText(name)}</code>
        </button>
      )}
      {children}
    </li>
  );
}

/** Where the diff adds or changes the test with this name, as reports write it: suites, then the title. */
function findTestPlace(files: readonly PatchFile[], test: string): Place | undefined {
  const title = (test.split(/::| > /).at(-1) ?? '').replace(/\[[^[\]]*\]$/, '').trim();
  if (title === '') return undefined;
  for (const { path, hunks } of files.filter((file) => isTestPath(file.path)))
    for (const { lines } of hunks) {
      const line = lines.find(({ kind, text }) => kind === 'added' && text.includes(title))?.new;
      if (line !== undefined) return { path, side: 'new', line };
    }
  return undefined;
}

/** The first changed line of a file that an agent names, by its path or the end of it. */
export function findFilePlace(files: readonly PatchFile[], name: string): Place | undefined {
  const file = files.find(({ path }) => path === name || path.endsWith(`/${name}`));
  const line = file?.hunks.flatMap(({ lines }) => lines).find(({ kind }) => kind !== 'same');
  if (file === undefined || line === undefined) return undefined;
  return line.new === undefined
    ? { path: file.path, side: 'old', line: line.old ?? 1 }
    : { path: file.path, side: 'new', line: line.new };
}
