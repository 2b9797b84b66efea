import type { Env } from './host.ts';

/** Words that the name of a variable with a secret ends with. */
const NAMES =
  /(?:^|_)(?:(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|SERVICE|DEPLOY)?KEY|\w*TOKEN|\w*SECRET|\w*PASSWORD|PASSWD|PASSPHRASE|PASS|CREDENTIALS?|AUTH|PAT|COOKIE)$|_PWD$/i;
/** A shorter value, a single word, a path or a small number is found everywhere, and is hardly ever a secret. */
const SHORTEST = 8;
const COMMON = /^(?:[A-Za-z]{1,15}|\d{1,11}|[./~].*|[a-z]+:\/\/[^@]*)$/s;

/** The values of an environment that look secret by their names, and the passwords in its addresses. */
export function secretsOf(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const password = passwordIn(value);
    const named = NAMES.test(name) && value.length >= SHORTEST && !COMMON.test(value) ? [value] : [];
    return password === undefined ? named : [...named, password];
  });
}

function passwordIn(value: string): string | undefined {
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s:]*:([^/?#\s]+)@/i.exec(value)?.[1];
  if (password === undefined) return undefined;
  const plain = decoded(password);
  return plain.length < SHORTEST ? undefined : plain;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
