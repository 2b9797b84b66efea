import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import type { ProtectedPath } from '../../core/journal/run-created.ts';
import type { Config } from '../../config/config.ts';
import { findNamedPaths, type OwnSetting } from '../../git/protect/named-paths.ts';
import type { GitSetting } from '../../git/process/git-settings.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { namedFiles } from '../../worker/story-prompt.ts';
import type { PrdFile } from '../../core/prd/prd.ts';

interface GuardQuery {
  /** The checkout or bare repository, if it is on this machine. */
  root: string | undefined;
  /** A git directory that has the commit. */
  gitDir: string;
  commit: string;
  prd: PrdFile;
  config: Pick<Config, 'git' | 'model' | 'network' | 'prompt' | 'secrets'>;
  /** Whether the PRD came over the network, so that its path is not valid on this machine. */
  remote: boolean;
  /** The settings of the checkout, if they have been read already. */
  settings?: readonly GitSetting[] | undefined;
}

const MAX_COPIES = 10;

/** Files that a story may change only with an approval: the PRD, and files that settings name. Throws GIT_FAILED. */
export async function findGuarded({
  root,
  gitDir,
  commit,
  prd,
  config,
  remote,
  settings,
}: GuardQuery): Promise<ProtectedPath[]> {
  const [named, own] = await Promise.all([
    root === undefined ? [] : findNamedPaths({ root, gitDir, commit, own: filesIn(config), settings }),
    root === undefined ? [] : pathsBelow(root, prd.path, remote),
  ]);
  const prds = own.length > 0 && !remote ? own : [...own, ...(await findCopies({ gitDir, commit, prd }))];
  const prompts = namedFiles(config.prompt).map(({ path, key }) => ({ path, setting: key }));
  return [...prds.map((path) => ({ path })), ...prompts, ...named];
}

/** Files that halo reads or starts on this machine. Changing them could change keys, signers or secrets. */
function filesIn({ git, model, network, secrets }: GuardQuery['config']): OwnSetting[] {
  const paths: [setting: string, value: string | undefined][] = [
    ['git.signing_key', git.signingKey],
    ['git.allowed_signers', git.allowedSigners],
    ['network.ca_file', network.caFile],
    ['model.key_file', model.keyFile],
    ...model.keys.map(({ keyFile }): [string, string | undefined] => ['model.keys', keyFile]),
    ...secrets.files.map((file): [string, string] => ['secrets.files', file]),
  ];
  const named = paths.map(([setting, value]) => ({ setting, value, kind: 'path' as const }));
  const commands = [model, ...model.keys].map(({ keyCommand: value }, position) => {
    return { setting: position === 0 ? 'model.key_command' : 'model.keys', value, kind: 'command' as const };
  });
  return [...named, ...commands].flatMap((each) => (each.value === undefined ? [] : [{ ...each, value: each.value }]));
}

/** The paths of a file below a folder: as named, and with links resolved. */
async function pathsBelow(root: string, file: string, remote: boolean): Promise<string[]> {
  if (!isAbsolute(file)) return [];
  const real = remote ? file : await realpath(file).catch(() => file);
  const paths = [file, real].map((path) => relative(root, path));
  return [...new Set(paths)].filter((path) => path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..');
}

/** Files of the commit with the same bytes: a PRD that came over the network may also be in the repository. */
async function findCopies({ gitDir, commit, prd }: Pick<GuardQuery, 'gitDir' | 'commit' | 'prd'>): Promise<string[]> {
  const id = createHash(commit.length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${prd.bytes.length}\0`)
    .update(prd.bytes)
    .digest('hex');
  const copies = await listFiles({ gitDir, commit }, (file) => file.id === id);
  return copies.slice(0, MAX_COPIES).map(({ path }) => path);
}
