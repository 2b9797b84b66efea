import { render } from 'preact';
import { Dashboard } from './page/dashboard.tsx';
import type { Person } from './page/page-parts.tsx';
import { applyTheme } from './page/theme.ts';

/** The person who is signed in, as the page of the server says. */
function readPerson(): Person {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="halo-user"]');
  return {
    name: meta?.content ?? '',
    role: meta?.dataset.role ?? 'viewer',
    isRestricted: meta?.dataset.restricted === 'true',
  };
}

applyTheme();

/** The entry of the dashboard in browsers. */
const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  render(<Dashboard person={readPerson()} />, root);
}
