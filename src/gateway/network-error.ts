const WORDS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name could not be looked up',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  EPROTO: 'it does not answer as HTTP wants it',
};

/** Why a connection failed, as the end of a sentence: "the connection was refused (ECONNREFUSED)". */
export function describeNetworkError(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return 'the connection failed';
  const words =
    WORDS[code] ?? (/CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code) ? 'its certificate is not trusted' : undefined);
  return `${words ?? 'the connection failed'} (${code})`;
}

/** Whether a connection failed before anything of the request was sent. */
export function neverLeft(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return !['ECONNRESET', 'ETIMEDOUT', 'EPROTO'].includes(code) && code in WORDS;
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
