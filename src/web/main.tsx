import { render } from 'preact';
import { Dashboard } from './page/dashboard.tsx';
import { Problem, type Person } from './page/page-parts.tsx';
import { readJson, toRequestFailed } from './page/read-server.ts';
import { applyTheme } from './page/theme.ts';

applyTheme();

/** The entry of the dashboard in browsers. */
const root = document.getElementById('app');
if (root !== null) {
  readJson<Person>('/dashboard/person').then(
    (person) => {
      root.replaceChildren();
      render(<Dashboard person={person} />, root);
    },
    (error: unknown) => {
      root.replaceChildren();
      render(<Problem problem={toRequestFailed(error)} />, root);
    },
  );
}
