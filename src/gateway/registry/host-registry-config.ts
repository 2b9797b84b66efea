import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from '../../lib/execa.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import type { RegistryRoute } from './registries.ts';

type Upstream = Pick<RegistryRoute, 'upstream' | 'hosts' | 'named'>;

/** The public registries. The hosts are the targets of their links. */
const PUBLIC: Partial<Record<RegistryName, Upstream>> = {
  pypi: { upstream: 'https://pypi.org/simple', hosts: ['files.pythonhosted.org:443'], named: false },
  crates: { upstream: 'https://index.crates.io', hosts: ['static.crates.io:443'], named: false },
  go: { upstream: 'https://proxy.golang.org', hosts: [], named: false },
};

interface HostConfigFolders {
  /** Working folder for npm. It must be private, so that only the user's npm settings apply. */
  home: string;
  /** The folder of apt's source lists. */
  apt: string;
}

/**
 * Finds the upstream of a registry that is not configured: the public one, or the one that npm and apt use on this
 * machine. Throws CONFIG_INVALID when there is none.
 */
export async function resolveHostUpstream(name: RegistryName, machine: HostConfigFolders): Promise<Upstream> {
  const known = PUBLIC[name];
  if (known !== undefined) return known;
  const upstream = name === 'npm' ? await askNpm(machine.home) : await readAptSources(machine.apt);
  if (upstream !== undefined) return { upstream, hosts: [], named: true };
  throw new HaloError(
    'CONFIG_INVALID',
    `The worker’s machine has no ${name} settings that a registry proxy could use.`,
    {
      hint: `Set [network.upstreams] ${name} in config.toml of HALO_HOME.`,
    },
  );
}

/** The registry in the user's npm settings, not those of a project. */
async function askNpm(home: string): Promise<string | undefined> {
  const result = await execa('npm', ['config', 'get', 'registry', '--global'], {
    cwd: home,
    stdin: 'ignore',
    stderr: 'ignore',
    timeout: 30_000,
    reject: false,
  });
  const text = result.failed ? '' : result.stdout.trim();
  return /^https?:\/\/\S+$/.test(text) ? text : undefined;
}

/** The part before `/debian` of the first source that has it. */
async function readAptSources(folder: string): Promise<string | undefined> {
  const parts = join(folder, 'sources.list.d');
  const names = await readdir(parts).catch(() => []);
  const files = [
    join(folder, 'sources.list'),
    ...names
      .filter((name) => /\.(list|sources)$/.test(name))
      .sort()
      .map((name) => join(parts, name)),
  ];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => /^(deb\s|URIs:)/.test(line));
  const sources = lines.flatMap((line) => /(https?:\/\/\S+?)\/debian\/?(?=\s|$)/.exec(line)?.[1] ?? []);
  return sources[0];
}
