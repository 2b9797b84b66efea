import { tryDecodeComponent } from '../../core/text/address-credentials.ts';
import type { Env } from './host.ts';

/** Matches names of variables that contain secrets. */
const NAMES =
  /(?:^|_)(?:(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|SERVICE|DEPLOY)?KEY|\w*TOKEN|\w*SECRET|\w*PASSWORD|PASSWD|PASSPHRASE|PASS|CREDENTIALS?|AUTH|PAT|COOKIE)$|_PWD$/i;
/** Short values, single words, paths and small numbers are common in output and rarely secrets. */
const MIN_SECRET_LENGTH = 8;
const COMMON = /^(?:[A-Za-z]{1,15}|\d{1,11}|[./~].*|[a-z]+:\/\/[^@]*)$/s;

/** What people use where a password keeps nothing secret. */
const KNOWN = ['password', 'passwort', 'changeme', 'postgres', '12345678'];

/** Returns the values of variables with secret-looking names, and the passwords in URLs. */
export function findSecretValues(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const password = passwordIn(value);
    const named = NAMES.test(name) && value.length >= MIN_SECRET_LENGTH && !COMMON.test(value) ? [value] : [];
    return password === undefined ? named : [...named, password];
  });
}

/** Undefined for a password that protects nothing: a well-known one, or a word that names something else in the URL. */
function passwordIn(value: string): string | undefined {
  const [, before = '', password, after = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/?#\s:]*):([^/?#\s]+)(@[^?#]*)/i.exec(value) ?? [];
  if (password === undefined) return undefined;
  const plain = tryDecodeComponent(password);
  const words = [...KNOWN, ...`${before}${after}`.split(/[^A-Za-z0-9]+/).filter((word) => /^[a-z]{1,15}$/.test(word))];
  return plain.length < MIN_SECRET_LENGTH || words.includes(plain.toLowerCase()) ? undefined : plain;
}
