import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import { secretsOf } from '../config/environment/secret-variables.ts';
import { openMasker, type Masker } from '../lib/secrets/masker.ts';

/** A masker that knows what is secret to this process whatever it works on. */
export function openProcessMasker(host: Host, env: Env): Masker {
  const masker = openMasker();
  masker.learn(secretsOf(env));
  masker.learn([host.apiToken ?? '', readToken(host.home)]);
  return masker;
}

/** The token of the API, which the first server of this home made, perhaps later than this process began; or nothing. */
export function readToken(home: string): string {
  try {
    return readFileSync(join(home, 'api-token'), 'utf8');
  } catch {
    return '';
  }
}
