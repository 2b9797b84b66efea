import { join } from 'node:path';
import type { EngineAddress } from '../core/engine/engine-address.ts';
import { HaloError } from '../core/failure/errors.ts';
import { closeSentence } from '../core/text/did-you-mean.ts';
import { readIfExists, readRegularText } from '../lib/fs.ts';
import type { Settings } from './config.ts';
import { readEngines } from './host-rules.ts';

export type ConfiguredEngine = Settings['engines'][number];

/** How many stories an engine runs at the same time, if `slots` is not set. */
export const DEFAULT_SLOTS = 2;

/**
 * The files with which halo reaches an engine that has no `ca`, `cert` and `key`: PEM, and the fingerprint of the engine's
 * key in hex.
 */
export function engineFiles(home: string, name: string): Record<'ca' | 'cert' | 'key' | 'fingerprint', string> {
  const at = (file: string) => join(home, 'engines', name, file);
  return { ca: at('ca.pem'), cert: at('client.pem'), key: at('client-key.pem'), fingerprint: at('fingerprint') };
}

/** Finds an engine of config.toml by its name. Throws CONFIG_INVALID. */
export async function requireEngine(home: string, name: string): Promise<ConfiguredEngine> {
  const engines = await readEngines(home);
  const found = engines.find((engine) => engine.name === name);
  if (found !== undefined) return found;
  const names = engines.map((engine) => engine.name);
  throw new HaloError('CONFIG_INVALID', `There is no engine ${JSON.stringify(name)}${closeSentence(name, names)}`, {
    hint: `Add an [[engines]] table with this name to ${join(home, 'config.toml')}.`,
  });
}

/** Reads how to reach an engine, with the texts of its certificates and key. Throws CONFIG_INVALID for a missing file. */
export async function readEngineAddress(home: string, engine: ConfiguredEngine): Promise<EngineAddress> {
  const { name, address } = engine;
  if (address.startsWith('unix:')) return { name, address };
  const own = engineFiles(home, name);
  const files = { ...own, ...(engine.ca !== undefined && { ca: engine.ca }) };
  const { cert = files.cert, key = files.key } = engine;
  const pinned = engine.ca === undefined ? (await readIfExists(own.fingerprint))?.trim() : undefined;
  const { fingerprint = pinned } = engine;
  // One after the other: an error names the first file that is missing.
  const tls = { ca: await readPem(name, files.ca), cert: await readPem(name, cert), key: await readPem(name, key) };
  return { name, address, tls: { ...tls, ...(fingerprint !== undefined && { fingerprint }) } };
}

const MAX_PEM_BYTES = 64 * 1024;

async function readPem(engine: string, path: string): Promise<string> {
  try {
    return await readRegularText(path, MAX_PEM_BYTES);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new HaloError('CONFIG_INVALID', `Engine ${engine}: ${path} cannot be read (${code ?? message}).`, {
      hint: 'An engine at a tcp:// address needs the certificates of mutual TLS: name ca, cert and key in its [[engines]] table.',
      cause: error,
    });
  }
}
