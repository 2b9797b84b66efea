import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { personText, type Person } from './page-parts.tsx';
import { signOut } from './read-server.ts';
import { SCREENS } from './screens.ts';
import { useTheme } from './theme.ts';
import { useWindowEvent } from './use-window-event.ts';

interface PageHeaderProps {
  /** The path of the open screen. */
  screen: string;
  /** The name of the open screen. */
  title: string;
  /** The number of entries of the inbox. */
  waiting: number;
  person: Person;
  onPalette: () => void;
  onKeys: () => void;
}

const THEME_SIGNS = { system: '◐', light: '☀', dark: '☾' };

/** The navigation. On narrow pages it is one line with a button that opens the rest. */
export function PageHeader({ screen, title, waiting, person, onPalette, onKeys }: PageHeaderProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [theme, switchTheme] = useTheme();
  useLayoutEffect(() => setOpen(false), [screen, title]);
  useWindowEvent('keydown', ({ key }) => {
    if (!isOpen || key !== 'Escape') return;
    setOpen(false);
    document.querySelector<HTMLElement>('.menu-button')?.focus();
  });
  return (
    <header>
      <a class="brand" href="#/">
        halo
      </a>
      <span class="where" aria-hidden="true">
        {title}
      </span>
      <button
        type="button"
        class="menu-button"
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
        {waiting > 0 && (
          <span class="count">
            {waiting}
            <span class="hidden"> in the inbox</span>
          </span>
        )}
      </button>
      <div id="menu" class="menu" data-open={isOpen ? '' : undefined}>
        <nav aria-label="Screens">
          {SCREENS.map(({ path, key, name }) => (
            <a
              key={path}
              href={`#/${path}`}
              aria-current={screen === path ? 'page' : undefined}
              aria-keyshortcuts={key}
              onClick={() => setOpen(false)}
            >
              {name}
              {path === 'inbox' && waiting > 0 && <span class="count">{waiting}</span>}
            </a>
          ))}
        </nav>
        <button type="button" onClick={onPalette} aria-keyshortcuts="Control+K">
          Go to … <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <button
          type="button"
          onClick={switchTheme}
          data-command="Switch the theme"
          title="Theme: system, light or dark"
        >
          <span aria-hidden="true">{THEME_SIGNS[theme]}</span>
          <span class="theme"> Theme: {theme}</span>
        </button>
        <button type="button" onClick={onKeys} data-command="Show the keys" aria-keyshortcuts="?" title="Keys">
          <span class="narrow">Keys</span>
          <span class="wide" aria-hidden="true">
            ?
          </span>
        </button>
        <div class="signed-in">
          <span class="soft person">{personText(person)}</span>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  );
}
