import { PAGE_KEY } from '../../../src/core/access/page-key.ts';

/**
 * A browser without scripts, except that it keeps the key of a session as the page after a sign-in does: it keeps cookies
 * per origin, follows redirects and sends forms as pages of an origin would.
 */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  readonly #keys = new Map<string, string>();

  /** The cookies of an origin, by name. */
  cookiesOf(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const cookies = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, cookies);
    return cookies;
  }

  /** Opens a page. Returns the last answer, with the address that it has. */
  async open(url: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#follow(await this.#send(url, { headers }), url);
  }

  /** Sends a form of a page of the same origin. */
  async post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    const origin = new URL(url).origin;
    const type = 'application/x-www-form-urlencoded';
    const body = new URLSearchParams(form).toString();
    const init = { method: 'POST', body, headers: { 'content-type': type, origin, ...headers } };
    return this.#follow(await this.#send(url, init), url);
  }

  /** One request of a page of the same origin, without following redirects. */
  async request(url: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    return this.#send(url, { ...init, headers: { ...this.pageKey(url), ...init.headers } });
  }

  /** The header of the pages of an origin. */
  pageKey(url: string): Record<string, string> {
    const key = this.#keys.get(new URL(url).origin);
    return key === undefined ? {} : { [PAGE_KEY]: key };
  }

  async #follow(first: Response, from: string): Promise<Page> {
    let [response, url] = [first, from];
    for (let count = 0; count < 15 && [302, 303].includes(response.status); count++) {
      url = new URL(response.headers.get('location') ?? '', url).href;
      response = await this.#send(url);
    }
    const text = await response.text();
    const [, key, next = ''] = /data-key="([^"]+)" data-return="([^"]*)"/.exec(text) ?? [];
    if (key === undefined) return { url, status: response.status, text, headers: response.headers };
    this.#keys.set(new URL(url).origin, key);
    return this.open(new URL(next, url).href);
  }

  async #send(url: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const cookies = this.cookiesOf(url);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie !== '' && { cookie }), ...init.headers };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const isGone = attributes.some((each) => /^max-age=0$/i.test(each) || /^expires=Thu, 01 Jan 1970/i.test(each));
      if (isGone || value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }
}

export interface Page {
  url: string;
  status: number;
  text: string;
  headers: Headers;
}
