/** What a request says about its sender. */
export type Credential =
  /** A program, with a token in the header Authorization. */
  | { from: 'header'; token: string }
  /** A page of the dashboard: the key of its session, and every cookie that may be the one of the session. */
  | { from: 'page'; pageKey: string | undefined; cookies: readonly string[] };
