import { PAGE_KEY } from '../../core/access/page-key.ts';
import { keep, readKept } from './browser-storage.ts';

/** The header that makes a request one of this page; undefined: the person is not signed in. */
export function sessionHeaders(): Record<string, string> | undefined {
  const key = readKept(PAGE_KEY);
  return key === undefined ? undefined : { [PAGE_KEY]: key };
}

/** Opens the page to sign in, which leads to `returnTo`, by default back to the current screen. */
export function leave(returnTo = location.pathname + location.hash): void {
  keep(PAGE_KEY, undefined);
  location.assign(`/sign-in?return=${encodeURIComponent(returnTo)}`);
}
