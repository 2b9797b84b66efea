import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { ProtectedPath } from '../../core/journal/run-created.ts';
import type { Config } from '../../config/config.ts';
import { findNamedPaths, type OwnSetting } from '../../git/protect/named-paths.ts';
import type { GitSetting } from '../../git/process/git-settings.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { namedFiles } from '../../worker/story-prompt.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import { isTaskFolder, readFolderText } from '../../prd/folder/folder-text.ts';
import { filesOfPrd } from '../../prd/parse-prd.ts';

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
    root === undefined ? [] : pathsBelow(root, prd, remote),
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

/**
 * The paths of a PRD below a folder: as named, and with links resolved. A folder of tasks counts as a whole, because a new
 * file in it is a new task; if it is the top of the repository, or one of BMAD, only the files of the PRD do.
 */
async function pathsBelow(root: string, prd: PrdFile, remote: boolean): Promise<string[]> {
  const { path } = prd;
  if (!isAbsolute(path)) return [];
  const real = remote ? path : await realpath(path).catch(() => path);
  const names = filesOfPrd(prd);
  const paths = [path, real].flatMap((each) => {
    const below = relative(root, each);
    return names === undefined || (below !== '' && isTaskFolder(names))
      ? [below]
      : names.map((name) => join(below, name));
  });
  return [...new Set(paths)].filter((each) => !isAbsolute(each) && each !== '' && each.split(sep)[0] !== '..');
}

/** Files of the commit with the same bytes: a PRD that came over the network may also be in the repository. */
async function findCopies({ gitDir, commit, prd }: Pick<GuardQuery, 'gitDir' | 'commit' | 'prd'>): Promise<string[]> {
  const contents = contentsOf(prd);
  const ids = new Set(
    contents.map((bytes) =>
      createHash(commit.length === 64 ? 'sha256' : 'sha1')
        .update(`blob ${bytes.length}\0`)
        .update(bytes)
        .digest('hex'),
    ),
  );
  const copies = await listFiles({ gitDir, commit }, (file) => ids.has(file.id));
  return copies.slice(0, MAX_COPIES * contents.length).map(({ path }) => path);
}

/** The bytes of the files that were read. */
function contentsOf(prd: PrdFile): Uint8Array[] {
  const names = new Set(filesOfPrd(prd));
  if (names.size === 0) return [prd.bytes];
  const { files } = readFolderText(prd.bytes, prd.path);
  return files.flatMap(({ name, text }) => (names.has(name) ? [new TextEncoder().encode(text)] : []));
}
