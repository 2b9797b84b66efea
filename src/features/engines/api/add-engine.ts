import { join } from 'node:path';
import { requireEngine } from '../../../config/engine-address.ts';
import { readEngines, readServerRules } from '../../../config/host-rules.ts';
import { changeHostConfig } from '../../../api/change-host-config.ts';
import { EnginesList } from '../../../config/schema/engines-table.ts';
import { LOCAL_ENGINE, type EngineAddress } from '../../../core/engine/engine-address.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { createHash } from 'node:crypto';
import { readRegularText } from '../../../lib/fs.ts';
import { PACKAGE_ROOT } from '../../../lib/version.ts';
import { isEngineDrained, noteDrained } from '../../../store/drained-engines.ts';
import { forgetObjectsVolumes } from '../../../store/objects-volume-files.ts';
import { SnapshotFiles } from '../../../store/snapshot-files.ts';
import { hostOfAddress, isPlainUrl, withEntry, withoutEntry, type EngineEntry } from '../core/engine-entry.ts';
import { certificateHash, EngineKeys, type IssuedCertificate } from '../store/engine-keys.ts';
import { readJoinScript } from './join-route.ts';
import { findSameEngines } from '../worker/same-engines.ts';

export interface AddRequest extends Partial<EngineEntry> {
  name: string;
  /** Where machines reach the API of the server; default: `[server] url`. */
  server?: string | undefined;
  /** A file with a signing request of the engine's machine. */
  csr?: string | undefined;
  /** Whether an engine with this name may get another address. Its machine joins again then. */
  replace?: boolean | undefined;
}

/** How the machine of an added engine gets its certificate. */
export interface AddedEngine {
  name: string;
  address: string;
  /** The command for the machine, which asks the server for the certificate; absent: the server has no known address. */
  command?: string | undefined;
  /** When the command stops working, ISO 8601. */
  expiresAt?: string | undefined;
  /** The program for the machine, which it can also use without HTTP; absent for a socket. */
  script?: string | undefined;
  /** The certificates for a signing request. */
  issued?: IssuedCertificate | undefined;
}

/**
 * Adds an engine to config.toml, or changes what is given of its entry, and lets its machine join. Throws CONFIG_INVALID,
 * USAGE, DISK_FAILED.
 */
export async function addEngine(home: string, request: AddRequest, now = new Date()): Promise<AddedEngine> {
  const { server, csr, replace, ...entry } = request;
  const { name } = entry;
  const engines = await readEngines(home);
  const present = engines.find((engine) => engine.name === name);
  const address = entry.address ?? present?.address;
  if (address === undefined)
    throw new HaloError('USAGE', `There is no engine ${JSON.stringify(name)} in config.toml, and no address for it.`, {
      hint: `Name its address: \`halo engine add ${name} --address tcp://host:2376\`.`,
    });
  if (present?.ca !== undefined)
    throw new HaloError('USAGE', `The engine ${name} has certificates of its own, in its [[engines]] table.`, {
      hint: 'Remove ca, cert, key and fingerprint from the table, or leave the engine as it is.',
    });
  const given = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
  assertArguments({ ...given, name, address });
  assertAddress({ name, address, replace }, engines);
  if (address.startsWith('unix:')) await assertOther(home, { name, address });
  if (Object.keys(given).length > 1)
    await changeHostConfig(home, (text) => withEntry(text, { ...present, ...given, name, address }));
  const keys = new EngineKeys(home);
  // The key of another machine says nothing of this one.
  if (present !== undefined && present.address !== address) {
    const drained = await isEngineDrained(home, name);
    await keys.remove(name);
    if (drained) await noteDrained(home, name, true);
  }
  const host = hostOfAddress(address);
  if (host === undefined) return { name, address };
  await keys.admit(name);
  const script = join(PACKAGE_ROOT, 'docker', 'engine', 'join.sh');
  if (csr !== undefined) {
    const text = await readRegularText(csr, MAX_CSR_BYTES).catch((cause: Error) => {
      throw new HaloError('USAGE', `${csr} cannot be read: ${cause.message}.`, { cause });
    });
    return { name, address, script, issued: await keys.sign(name, text, host) };
  }
  const url = server ?? (await readServerRules(home)).url;
  if (url === undefined) return { name, address, script };
  if (!isPlainUrl(url))
    throw new HaloError('USAGE', `${JSON.stringify(url)} is not the address of a server.`, {
      hint: 'Use an address like https://halo.example.com, without credentials and query.',
    });
  const { token, expiresAt } = await keys.invite(name, now);
  const hash = certificateHash((await keys.authority()) ?? '');
  const command = joinCommand({ url: url.replace(/\/+$/, ''), script: await readJoinScript(), words: [name, address], token, hash }); // prettier-ignore
  return { name, address, script, command, expiresAt };
}

const ARGUMENTS: Record<string, string> = {
  name: 'The name',
  address: '--address',
  labels: '--label',
  repositories: '--repo',
  users: '--user',
};

/** Throws USAGE for what config.toml may not contain. */
function assertArguments(entry: EngineEntry): void {
  const [issue] = EnginesList.safeParse([entry]).error?.issues ?? [];
  if (issue === undefined) return;
  const [, key = ''] = issue.path;
  throw new HaloError('USAGE', `${ARGUMENTS[String(key)] ?? `--${String(key)}`} ${issue.message}.`, {
    hint: '`halo engine add --help` has examples.',
  });
}

/** An engine does not silently become another machine, or a second engine of one machine. Throws USAGE. */
function assertAddress({ name, address, replace }: AddRequest, engines: readonly EngineEntry[]): void {
  const isSame = (other: EngineEntry) => other.address.toLowerCase() === address?.toLowerCase();
  const present = engines.find((engine) => engine.name === name);
  if (present !== undefined && !isSame(present) && replace !== true)
    throw new HaloError('USAGE', `The engine ${name} has another address already: ${present.address}.`, {
      hint: 'Use another name, or --replace if this machine takes its place.',
    });
  const other = engines.find((engine) => engine.name !== name && isSame(engine));
  if (other !== undefined)
    throw new HaloError('USAGE', `${address} is already the engine ${other.name}.`, {
      hint: `Let it join again with \`halo engine add ${other.name}\`, or remove it with \`halo engine rm ${other.name}\` first.`,
    });
}

/** A socket may lead to an engine that stories use already. Throws USAGE. */
async function assertOther(home: string, at: EngineAddress): Promise<void> {
  const [other] = await findSameEngines(home, at);
  if (other === undefined) return;
  const more = other === LOCAL_ENGINE ? 'halo up --workers' : `halo engine add ${other} --slots`;
  throw new HaloError(
    'USAGE',
    `${at.address} is the same Docker engine as ${other}: its slots would be counted twice.`,
    {
      hint: `For more stories on it, use \`${more} N\`.`,
    },
  );
}

const MAX_CSR_BYTES = 16 * 1024;

interface JoinCommand {
  url: string;
  script: string;
  words: string[];
  token: string;
  hash: string;
}

/** The program is checked before root runs it: another machine may have answered in place of the server. */
function joinCommand({ url, script, words, token, hash }: JoinCommand): string {
  const sum = createHash('sha256').update(script).digest('hex');
  const file = 'halo-join.sh';
  return [
    `curl -fsS -o ${file} ${url}/engines/join.sh`,
    `echo "${sum}  ${file}" | sha256sum -c --quiet`,
    `$([ "$(id -u)" = 0 ] || echo sudo) sh ${file} ${words.join(' ')} ${url} ${token} ${hash}`,
  ].join(' && ');
}

/**
 * Removes an engine and its keys. Returns whether Docker on its machine still listens for clients of this server. Throws
 * CONFIG_INVALID if there is none.
 */
export async function removeEngine(home: string, name: string): Promise<boolean> {
  const { address, ca } = await requireEngine(home, name);
  await changeHostConfig(home, (text) => {
    const rest = withoutEntry(text, name);
    if (rest !== text) return rest;
    throw new HaloError('CONFIG_INVALID', `The engine ${name} has no [[engines]] table of its own in config.toml.`, {
      hint: `Remove it from ${join(home, 'config.toml')} by hand.`,
    });
  });
  const keys = new EngineKeys(home);
  const isJoined = address.startsWith('tcp:') && ca === undefined && (await keys.fingerprint(name)) !== undefined;
  await keys.remove(name);
  await forgetSnapshots(home, name);
  await forgetObjectsVolumes(home, name);
  return isJoined;
}

/** Without their engine, nothing can use or remove the volumes that the records name. */
async function forgetSnapshots(home: string, engine: string): Promise<void> {
  const snapshots = new SnapshotFiles(home);
  for (const each of await snapshots.list()) if (each.record.engine?.name === engine) await snapshots.remove(each);
}
