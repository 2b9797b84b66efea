import type { JSX } from 'preact';
import { hasWords } from '../../core/text/search.ts';
import { useState } from 'preact/hooks';
import { safeText } from '../../core/text/safe-text.ts';

interface KnownProps {
  known: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

/** A list without a filter is this long. */
const MAX_SHOWN = 6;

/** The choice of repositories of earlier runs, with a filter if there are many; the chosen ones come first. */
export function KnownRepositories({ known, chosen, onChange }: KnownProps): JSX.Element | null {
  const [filter, setFilter] = useState('');
  if (known.length === 0) return null;
  const matches = known.filter((source) => hasWords(source, filter));
  const others = matches.filter((source) => !chosen.includes(source));
  const shown = [...known.filter((source) => chosen.includes(source)), ...others.slice(0, MAX_SHOWN)];
  const more = others.length - MAX_SHOWN;
  return (
    <fieldset class="known">
      <legend>Known repositories</legend>
      {known.length > MAX_SHOWN && (
        <input
          type="search"
          aria-label="Filter the repositories"
          placeholder={`Filter ${known.length} repositories`}
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      )}
      {shown.map((source) => (
        <label key={source} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(source)}
            onChange={({ currentTarget }) =>
              onChange(currentTarget.checked ? [...chosen, source] : chosen.filter((each) => each !== source))
            }
          />{' '}
          {safeText(source)}
        </label>
      ))}
      {more > 0 && <p class="soft">{more} more: filter them.</p>}
      {matches.length === 0 && <p class="soft">Nothing matches.</p>}
    </fieldset>
  );
}
