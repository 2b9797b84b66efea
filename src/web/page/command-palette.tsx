import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { SCREENS } from './screens.ts';
import { PROGRESS } from '../../core/run/progress.ts';
import { runWords } from '../../view/run-words.ts';

interface PaletteProps {
  runs: readonly ListedRun[];
  onClose: () => void;
}

const MAX_SHOWN = 12;

interface Place {
  name: string;
  /** What distinguishes it from others of the same name. */
  detail: string;
  path: string;
}

const PLACES = SCREENS.map(({ name, path }): Place => ({ name, detail: '', path: `#/${path}` }));

/** Finds screens, runs and stories by any part of their names. */
export function CommandPalette({ runs, onClose }: PaletteProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const all = [...PLACES, ...runs.map(placeOfRun), ...runs.flatMap(placesOfStories)];
  const words = text.toLowerCase().split(/\s+/);
  const isFound = ({ name, detail }: Place) => {
    const all = `${name} ${detail}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const found = all.filter(isFound).slice(0, MAX_SHOWN);
  const open = (path: string | undefined) => {
    if (path !== undefined) location.hash = path;
    onClose();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open(found[index]?.path);
    else if (event.key === 'ArrowDown') setIndex(Math.min(index + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setIndex(Math.max(index - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Go to a screen, run or story">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={`found-${index}`}
        aria-label="Go to"
        placeholder="Screen, run or story"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={press}
      />
      <ul id="found" role="listbox" aria-label="Found">
        {found.map(({ name, detail, path }, at) => (
          <li key={path} id={`found-${at}`} role="option" aria-selected={at === index} onClick={() => open(path)}>
            {safeLine(name)} <span class="soft">{safeLine(detail)}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="soft">Nothing matches.</p>}
    </dialog>
  );
}

function placeOfRun(run: ListedRun): Place {
  const [name, id] = run.project === '' ? [run.runId, ''] : [run.project, run.runId];
  return { name, detail: `${runWords(run).text} ${run.user} ${id}`, path: `#/run/${run.runId}` };
}

function placesOfStories(run: ListedRun): Place[] {
  return run.stories.map(({ id, title, progress }) => ({
    name: `${id} ${title}`,
    detail: `${PROGRESS[progress].word} ${run.project} ${run.runId}`,
    path: `#/run/${run.runId}/story/${encodeURIComponent(id)}`,
  }));
}
