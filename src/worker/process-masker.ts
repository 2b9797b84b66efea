import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../config/config.ts';
import type { Env } from '../config/environment/host.ts';
import { findSecretValues } from '../config/environment/secret-variables.ts';
import { openMasker, type Masker } from '../lib/secrets/masker.ts';

/** Creates a masker with the secrets of this process, independent of any run. */
export function openProcessMasker(host: Host, env: Env): Masker {
  const masker = openMasker();
  masker.learn(findSecretValues(env));
  masker.learn([host.apiToken ?? '', readApiToken(host.home)]);
  return masker;
}

/** The API token of a HALO_HOME; empty if no server has created it yet. */
export function readApiToken(home: string): string {
  try {
    return readFileSync(join(home, 'api-token'), 'utf8');
  } catch {
    return '';
  }
}
