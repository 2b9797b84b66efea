import { useState } from 'preact/hooks';
import { keep, readKept } from './browser-storage.ts';

const KEY = 'halo-theme';
const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** Applies the theme that the person chose in this browser; without one, that of the system. */
export function applyTheme(theme: Theme = readTheme()): void {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = theme;
}

/** The theme, and a function that switches to the next one. */
export function useTheme(): [theme: Theme, switchTheme: () => void] {
  const [theme, setTheme] = useState(readTheme);
  return [
    theme,
    () => {
      const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
      keep(KEY, next === 'system' ? undefined : next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}

function readTheme(): Theme {
  return THEMES.find((theme) => theme === readKept(KEY)) ?? 'system';
}
