import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { isPrdName, PRD_FILE } from '../../core/prd/prd-names.ts';
import { sortStories } from '../../core/run/story-order.ts';
import type { PrdEntry, PrdFiles } from '../../tui/top/prds/prd-files.ts';
import type { Cli } from '../cli.ts';
import { listPrdFolders, parsePrdFile, readPrd } from '../options/read-prd.ts';
import { resolveRepository } from '../options/resolve-run.ts';
import { editPrd } from './edit-prd.ts';
import { createPrd } from './new-prd.ts';

/** The PRDs of the repository around the current folder, for `halo top`. */
export function openPrdFiles(cli: Cli): PrdFiles {
  const { cwd } = cli;
  return {
    async list() {
      const repo = await resolveRepository(cwd);
      const named = (await listPrdFolders(cwd)).filter(({ name }) => isPrdName(name));
      const usual = await findUsual(repo);
      const others = usual === undefined || named.some(({ path }) => path === usual) ? [] : [usual];
      const files = [
        ...others.map((path) => ({ name: relative(repo, path), path, isNamed: false })),
        ...named.map((prd) => ({ ...prd, isNamed: true })),
      ];
      const [entries, agent] = await Promise.all([
        Promise.all(files.map((file) => readEntry(file, cli))),
        findAgent(repo, cli),
      ]);
      return { repo, entries, ...(agent !== undefined && { agent }) };
    },
    read: (path) => readPrd(path, cli),
    create: async (name) => join(await createPrd(name, cwd), PRD_FILE),
    edit: (name) => editPrd(name, cli),
  };
}

/** The PRD in a usual place; undefined if there is none, or more than one. */
async function findUsual(repo: string): Promise<string | undefined> {
  const { discoverPrd } = await import('../../api/repository/discover-prd.ts');
  return discoverPrd({ repo, hint: '' }).catch((error: unknown) => {
    if (error instanceof HaloError) return undefined;
    throw error;
  });
}

async function readEntry(file: Pick<PrdEntry, 'name' | 'path' | 'isNamed'>, cli: Cli): Promise<PrdEntry> {
  const realPath = await realpath(file.path).catch(() => file.path);
  try {
    const { project, stories } = await parsePrdFile(await readPrd(file.path, cli));
    const rows = sortStories(stories).map(({ id, title, status, acceptance, priority }) => ({
      ...{ id, title, status, priority },
      criteria: acceptance.length,
    }));
    return { ...file, realPath, project, stories: rows };
  } catch (error) {
    const problem = toHaloError(error).message.replaceAll(file.path, file.name);
    return { ...file, realPath, project: '', stories: [], problem };
  }
}

/** The agent of the settings on this machine; undefined if a server has its own, or the settings are not valid. */
async function findAgent(folder: string, cli: Cli): Promise<string | undefined> {
  const [host, { readConfig }] = await Promise.all([
    cli.services.readHost(),
    import('../../api/repository/repo-config.ts'),
  ]);
  if (host.apiUrl !== undefined) return undefined;
  return readConfig({ host, folder, profile: undefined, set: [] }).then(
    ({ config }) => config.agent,
    () => undefined,
  );
}
