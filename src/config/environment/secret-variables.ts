import { tryDecodeComponent } from '../../core/text/address-credentials.ts';
import type { Env } from './host.ts';

/** Matches names of variables that contain secrets. */
const NAMES =
  /(?:^|_)(?:(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|SERVICE|DEPLOY)?KEY|\w*TOKEN|\w*SECRET|\w*PASSWORD|PASSWD|PASSPHRASE|PASS|CREDENTIALS?|AUTH|PAT|COOKIE)$|_PWD$/i;
/** Short values, single words, paths and small numbers are common in output and rarely secrets. */
const MIN_SECRET_LENGTH = 8;
const COMMON = /^(?:[A-Za-z]{1,15}|\d{1,11}|[./~].*|[a-z]+:\/\/[^@]*)$/s;

/** Returns the values of variables with secret-looking names, and the passwords in URLs. */
export function findSecretValues(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const password = passwordIn(value);
    const named = NAMES.test(name) && value.length >= MIN_SECRET_LENGTH && !COMMON.test(value) ? [value] : [];
    return password === undefined ? named : [...named, password];
  });
}

function passwordIn(value: string): string | undefined {
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s:]*:([^/?#\s]+)@/i.exec(value)?.[1];
  if (password === undefined) return undefined;
  const plain = tryDecodeComponent(password);
  return plain.length < MIN_SECRET_LENGTH ? undefined : plain;
}
