import { REGISTRIES, type EgressRequests, type NetworkPhase, type RegistryName } from './egress-events.ts';
import type { JournalEvent } from './events.ts';

/** Identical requests of one attempt. */
export interface NetworkRow extends EgressRequests {
  story: string;
  attempt: number;
  phase: NetworkPhase;
}

/** The minimal settings that would have allowed all requests that can be allowed. */
export interface NetworkProposal {
  allow: string[];
  registries: RegistryName[];
  agentRegistries: RegistryName[];
}

export interface NetworkReport {
  rows: NetworkRow[];
  proposal: NetworkProposal;
}

/** Summarises the outgoing requests of a run, or of one of its stories. */
export function summarizeNetwork(events: readonly JournalEvent[], story: string | undefined): NetworkReport {
  const rows = events
    .filter((event) => event.type === 'network.asked')
    .filter((event) => story === undefined || event.story === story);
  return { rows: joinAlike(rows), proposal: propose(rows) };
}

/** Joins rows of several sandboxes: each setup command has its own. */
function joinAlike(rows: readonly NetworkRow[]): NetworkRow[] {
  const joined = new Map<string, NetworkRow>();
  for (const row of rows) {
    const { story, attempt, phase, route, method, target, outcome, status, reason, unlisted, bytes, count } = row;
    const key = JSON.stringify([story, attempt, phase, route, method, target, outcome]);
    const same = joined.get(key);
    const why = { ...(reason !== undefined && { reason }), ...(unlisted && { unlisted }) };
    const copy = { story, attempt, phase, route, method, target, outcome, status, ...why, bytes, count };
    if (same === undefined) joined.set(key, copy);
    else Object.assign(same, { count: same.count + row.count, bytes: same.bytes + row.bytes });
  }
  return [...joined.values()];
}

function propose(rows: NetworkRow[]): NetworkProposal {
  const agent = rows.filter(({ phase }) => phase === 'agent');
  const setup = rows.filter(({ phase }) => phase !== 'agent');
  const hosts = setup.filter(isWanted).filter((row) => row.route !== 'registry' && wantedRegistry(row) === undefined);
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

/** The registry that could serve a request, if any. */
function wantedRegistry(row: NetworkRow): RegistryName | undefined {
  if (row.outcome === 'refused' && row.status !== 403) return undefined;
  const named = /^(?:\/~)?([a-z]+)[:/]/.exec(row.target)?.[1];
  if (row.route === 'registry') return REGISTRIES.find((name) => name === named);
  return row.outcome === 'refused' ? REGISTRIES.find((name) => KNOWN_HOSTS[name].test(row.target)) : undefined;
}

/** Hosts of the public registries: for a refused tunnel to one, the registry is proposed instead of the host. */
const KNOWN_HOSTS: Record<RegistryName, RegExp> = {
  npm: /^registry\.(?:npmjs|yarnpkg)\.\w+:\d+$/i,
  pypi: /^(?:pypi\.org|files\.pythonhosted\.org):\d+$/i,
  crates: /^(?:index\.|static\.)?crates\.io:\d+$/i,
  go: /^(?:proxy|sum)\.golang\.org:\d+$/i,
  debian: /^(?:deb|security|ftp\.\w+)\.debian\.org:\d+$/i,
};

/** Whether a request was or would be allowed by an entry in `allow`. */
function isWanted({ route, outcome, target, unlisted }: NetworkRow): boolean {
  if (route !== 'tunnel' && route !== 'plain') return false;
  if (!/^[\w.[\]:-]+:\d{1,5}$/.test(target)) return false;
  return outcome !== 'refused' || unlisted === true;
}
