import type { JournalEvent } from './events.ts';
import { REGISTRIES, type NetworkAsked, type NetworkPhase, type RegistryName } from '../network.ts';

/** One kind of request of one attempt. */
export interface NetworkRow extends NetworkAsked {
  story: string;
  attempt: number;
  phase: NetworkPhase;
}

/** The smallest settings with which everything would have passed that can be let through. */
export interface NetworkProposal {
  allow: string[];
  registries: RegistryName[];
  agentRegistries: RegistryName[];
}

export interface NetworkReport {
  rows: NetworkRow[];
  proposal: NetworkProposal;
}

/** What a run, or one story of it, asked the world for. */
export function reportNetwork(events: readonly JournalEvent[], story: string | undefined): NetworkReport {
  const rows = events
    .filter((event) => event.type === 'network.asked')
    .filter((event) => story === undefined || event.story === story);
  return { rows: joinAlike(rows), proposal: propose(rows) };
}

/** Setup may have several commands, each with a sandbox of its own. */
function joinAlike(rows: readonly NetworkRow[]): NetworkRow[] {
  const joined = new Map<string, NetworkRow>();
  for (const row of rows) {
    const { story, attempt, phase, door, method, target, outcome, status, reason, bytes, count } = row;
    const key = JSON.stringify([story, attempt, phase, door, method, target, outcome]);
    const same = joined.get(key);
    const why = reason === undefined ? {} : { reason };
    const copy = { story, attempt, phase, door, method, target, outcome, status, ...why, bytes, count };
    if (same === undefined) joined.set(key, copy);
    else Object.assign(same, { count: same.count + row.count, bytes: same.bytes + row.bytes });
  }
  return [...joined.values()];
}

function propose(rows: NetworkRow[]): NetworkProposal {
  const agent = rows.filter(({ phase }) => phase === 'agent');
  const setup = rows.filter(({ phase }) => phase !== 'agent');
  const hosts = setup.filter(isWanted).filter((row) => row.door !== 'registry' && wantedRegistry(row) === undefined);
  return {
    allow: [...new Set(hosts.map(({ target }) => target.toLowerCase()))].sort(),
    registries: registriesOf(setup),
    agentRegistries: registriesOf(agent),
  };
}

function registriesOf(rows: NetworkRow[]): RegistryName[] {
  const wanted = new Set(rows.map(wantedRegistry));
  return REGISTRIES.filter((name) => wanted.has(name));
}

/** The registry that would have answered a request, if any. */
function wantedRegistry(row: NetworkRow): RegistryName | undefined {
  if (row.outcome === 'refused' && row.status !== 403) return undefined;
  const named = /^(?:\/~)?([a-z]+)[:/]/.exec(row.target)?.[1];
  if (row.door === 'registry') return REGISTRIES.find((name) => name === named);
  return row.outcome === 'refused' ? REGISTRIES.find((name) => KNOWN_HOSTS[name].test(row.target)) : undefined;
}

/** Hosts of the public registries, by which a refused tunnel tells what would be better than to allow it. */
const KNOWN_HOSTS: Record<RegistryName, RegExp> = {
  npm: /^registry\.(?:npmjs|yarnpkg)\.\w+:\d+$/i,
  pypi: /^(?:pypi\.org|files\.pythonhosted\.org):\d+$/i,
  crates: /^(?:index\.|static\.)?crates\.io:\d+$/i,
  go: /^(?:proxy|sum)\.golang\.org:\d+$/i,
  debian: /^(?:deb|security|ftp\.\w+)\.debian\.org:\d+$/i,
};

/** Whether an entry in `allow` makes a request pass, or made it. */
function isWanted({ door, outcome, target, reason = '' }: NetworkRow): boolean {
  if (door !== 'tunnel' && door !== 'plain') return false;
  if (!/^[\w.[\]:-]+:\d{1,5}$/.test(target)) return false;
  return outcome !== 'refused' || reason.endsWith('add it to [network] allow');
}
