/**
 * The key of the session of a page: the header in which the dashboard sends it, and the name under which the browser keeps
 * it. Unlike a cookie, what a browser keeps by name belongs to one scheme, host and port.
 */
export const PAGE_KEY = 'halo-page-key';
