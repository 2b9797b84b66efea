import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { HaloError } from '../../core/failure/errors.ts';
import type { RegistryName } from '../../core/network.ts';
import type { RegistryRoute } from './registries.ts';

type Upstream = Pick<RegistryRoute, 'upstream' | 'hosts' | 'named'>;

/** Where those registries are read that nobody names; the hosts are where their links lead. */
const PUBLIC: Partial<Record<RegistryName, Upstream>> = {
  pypi: { upstream: 'https://pypi.org/simple', hosts: ['files.pythonhosted.org:443'], named: false },
  crates: { upstream: 'https://index.crates.io', hosts: ['static.crates.io:443'], named: false },
  go: { upstream: 'https://proxy.golang.org', hosts: [], named: false },
};

export interface Machine {
  /** Where npm is asked: a folder that nobody else writes, so that no other settings than the user's count. */
  home: string;
  /** The folder of apt's sources. */
  apt: string;
}

/**
 * What a registry is read from when the configuration does not say it: the public one, or what this machine's own npm
 * and apt use. Throws CONFIG_INVALID when there is none.
 */
export async function findUpstream(name: RegistryName, machine: Machine): Promise<Upstream> {
  const known = PUBLIC[name];
  if (known !== undefined) return known;
  const upstream = name === 'npm' ? await askNpm(machine.home) : await readAptSources(machine.apt);
  if (upstream !== undefined) return { upstream, hosts: [], named: true };
  throw new HaloError('CONFIG_INVALID', `The worker’s machine has no ${name} settings that a mirror could use.`, {
    hint: `Set [network.upstreams] ${name} in config.toml of HALO_HOME.`,
  });
}

/** The registry that npm would use for the user, not for a project. */
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
