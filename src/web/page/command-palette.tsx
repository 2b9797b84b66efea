import type { JSX } from 'preact';
import { hasWords } from '../../core/text/search.ts';
import { useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { Modal } from './modal.tsx';
import { SCREENS } from './screens.ts';
import { PROGRESS } from '../../core/run/progress.ts';
import { runWords } from '../../view/run-words.ts';
import { whenText } from '../../view/ages.ts';

interface PaletteProps {
  runs: readonly ListedRun[];
  onClose: () => void;
}

const MAX_SHOWN = 12;

interface Choice {
  key: string;
  name: string;
  /** What distinguishes it from others of the same name. */
  detail: string;
  choose: () => void;
}

const PLACES = SCREENS.map(({ name, path, key }) => placeAt(`#/${path}`, name, key));

/** Finds screens, runs and stories by any part of their names, and actions of the open page. */
export function CommandPalette({ runs, onClose }: PaletteProps): JSX.Element {
  const [actions] = useState(actionsOfPage);
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  const now = new Date().toISOString();
  const all = [...PLACES, ...actions, ...runs.map((run) => placeOfRun(run, now)), ...runs.flatMap(placesOfStories)];
  const found = all.filter(({ name, detail }) => hasWords(`${name} ${detail}`, text)).slice(0, MAX_SHOWN);
  const open = (choice: Choice | undefined, close: () => void) => {
    close();
    choice?.choose();
  };
  const press = (event: KeyboardEvent, close: () => void) => {
    if (event.key === 'Enter') open(found[index], close);
    else if (event.key === 'ArrowDown') setIndex(Math.min(index + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setIndex(Math.max(index - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <Modal label="Go to a screen, run or story" onClose={onClose}>
      {(close) => (
        <>
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls="found"
            aria-activedescendant={`found-${index}`}
            aria-label="Go to"
            placeholder="Screen, run, story or action"
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              setIndex(0);
            }}
            onKeyDown={(event) => press(event, close)}
          />
          <ul id="found" role="listbox" aria-label="Found">
            {found.map((choice, at) => (
              <li
                key={choice.key}
                id={`found-${at}`}
                role="option"
                aria-selected={at === index}
                onClick={() => open(choice, close)}
              >
                {safeLine(choice.name)} <span class="soft">{safeLine(choice.detail)}</span>
              </li>
            ))}
          </ul>
          {found.length === 0 && <p class="soft">Nothing matches.</p>}
        </>
      )}
    </Modal>
  );
}

function placeAt(path: string, name: string, detail: string): Choice {
  return { key: path, name, detail, choose: () => (location.hash = path) };
}

/** The buttons of the page that have a key or are marked as commands; in a list, those of the entry with the focus. */
function actionsOfPage(): Choice[] {
  const entry = document.activeElement?.closest('.entry');
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main button[data-key], [data-command]')];
  return buttons
    .filter((button) => !button.disabled && [entry, null].includes(button.closest('.entry')))
    .map((button, index) => ({
      key: `action ${index}`,
      name: button.dataset.command ?? button.getAttribute('aria-label') ?? button.firstChild?.textContent ?? '',
      detail: button.dataset.key ?? '',
      choose: () => button.click(),
    }));
}

/** With the title of a story, because projects have many runs. */
function placeOfRun(run: ListedRun, now: string): Choice {
  const story = run.stories.find(({ progress }) => progress === 'in_progress') ?? run.stories[0];
  const name = [run.project === '' ? run.runId : run.project, story?.title ?? ''].filter((text) => text !== '');
  const detail = [runWords(run).text, whenText(run, now), run.user, run.project === '' ? '' : run.runId];
  return placeAt(`#/run/${run.runId}`, name.join(': '), detail.filter((text) => text !== '').join(' · '));
}

function placesOfStories(run: ListedRun): Choice[] {
  return run.stories.map(({ id, title, progress }) =>
    placeAt(
      `#/run/${run.runId}/story/${encodeURIComponent(id)}`,
      `${id} ${title}`,
      `${PROGRESS[progress].word} ${run.project} ${run.runId}`,
    ),
  );
}
