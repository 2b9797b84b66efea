import { PAGE_KEY } from '../../core/access/page-key.ts';

/** Style of the pages. Colors have a contrast of at least 4.5 (WCAG AA) in both schemes. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1c2024; --soft: #60646c; --back: #f6f7f9; --card: #fff; --line: #d9dce1; --main: #1f5fbf; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #eceef1; --soft: #a6abb4; --back: #111316; --card: #1a1d21; --line: #343940; --main: #7db0ff; --bad: #ff9a91; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 16px; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 24rem; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
h1 { margin: 0 0 4px; font-size: 1.375rem; line-height: 1.3; }
p { margin: 0 0 24px; color: var(--soft); overflow-wrap: anywhere; }
p.problem { color: var(--bad); }
label { display: block; margin-bottom: 6px; font-weight: 600; }
input, .button { width: 100%; min-height: 44px; padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; font: inherit; }
input { margin-bottom: 16px; background: transparent; color: inherit; }
.button { display: block; text-align: center; text-decoration: none; font-weight: 600; cursor: pointer; background: transparent; color: var(--main); border-color: var(--main); }
.button:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--main); outline-offset: 2px; }
.or { margin: 20px 0; text-align: center; }
`;

/** The icon of all pages: a ring. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="11" fill="none" stroke="#3b7de0" stroke-width="6"/></svg>`;

const ICON_LINK = '<link rel="icon" type="image/svg+xml" href="/dashboard/icon.svg">';

interface SignInPage {
  /** Where the browser goes afterwards: a path of this server. */
  returnTo: string;
  /** The host of the provider; undefined: only tokens are accepted. */
  provider: string | undefined;
  /** What went wrong, in one sentence. */
  problem?: string | undefined;
}

/** The page on which people sign in. Its script keeps the screen that a link leads to. */
export function signInPage({ returnTo, provider, problem }: SignInPage): string {
  const query = `?return=${encodeURIComponent(returnTo)}`;
  const byProvider =
    provider === undefined
      ? ''
      : `<a class="button" href="/sign-in/oidc${escapeHtml(query)}">Continue with ${escapeHtml(provider)}</a>
<p class="or">or</p>`;
  return page(
    'Sign in',
    `<h1>Sign in to halo</h1>
${problem === undefined ? '<p>Runs, results and approvals.</p>' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
${byProvider}
<form method="post" action="/sign-in">
<input type="hidden" name="return" value="${escapeHtml(returnTo)}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" placeholder="halo_…">
<button class="button" type="submit">Sign in with the token</button>
</form>
<p class="or">An administrator creates your token with <code>halo user token</code>. Without users, it is in the file <code>api-token</code> of HALO_HOME.</p>`,
    '<script type="module" src="/sign-in/keep-place.js"></script>',
  );
}

interface SignedInPage {
  /** Where the browser goes: a path of this server. */
  returnTo: string;
  pageKey: string;
}

/** The page after a sign-in: its script keeps the key of the session, and continues. */
export function signedInPage({ returnTo, pageKey }: SignedInPage): string {
  return page(
    'Signed in',
    `<h1>Signed in</h1>
<p id="signed-in" data-key="${escapeHtml(pageKey)}" data-return="${escapeHtml(returnTo)}">The dashboard needs JavaScript, and a browser that keeps data of this page.</p>`,
    '<script type="module" src="/sign-in/keep-key.js"></script>',
  );
}

/** The script of that page. */
export const KEEP_KEY = `const { key, return: target } = document.getElementById('signed-in').dataset;
localStorage.setItem('${PAGE_KEY}', key);
location.replace(target);
`;

/**
 * The script of the page on which people sign in. A server does not see what follows `#`, which names the screen; browsers
 * keep it when they are redirected.
 */
export const KEEP_PLACE = `const field = document.querySelector('input[name=return]');
if (location.hash.length > 1 && field.value === '/') {
  field.value += location.hash;
  for (const link of document.querySelectorAll('a.button')) link.search = '?return=' + encodeURIComponent(field.value);
}
`;

/** Paths of the program and the style of the dashboard. */
interface DashboardPage {
  script: string;
  style: string;
}

/** The page of the dashboard, the same for everyone. */
export function dashboardPage({ script, style }: DashboardPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>halo</title>
${ICON_LINK}
<link rel="stylesheet" href="${escapeHtml(style)}">
<script type="module" src="${escapeHtml(script)}"></script>
</head>
<body>
<div id="app"><noscript>The dashboard needs JavaScript. The commands of halo show the same.</noscript></div>
</body>
</html>
`;
}

function page(title: string, body: string, script = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – halo</title>
${ICON_LINK}
<link rel="stylesheet" href="/sign-in/style.css">
${script}
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
