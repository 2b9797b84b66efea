import { cannotWrite } from './write-error.ts';
import { warnOfContents } from '../submit/warnings.ts';
import { readConfig, unlessEmpty } from './repo-config.ts';
import { discoverPrd } from './discover-prd.ts';
import { describeImports, IMPORTED_NAME, settingsFrom, writeImportedPrd, type InitChoices } from './apply-imports.ts';
import { listImports, type Imports } from './list-imports.ts';
import { isInside } from '../../lib/fs.ts';
import { findUnignoredFolders, inspectRepo } from '../../git/repository/inspect-repo.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { registriesOf } from '../../core/command-needs.ts';
import { renderInitTemplate } from '../../config/output/init-template.ts';
import { findRepoConfig } from '../../config/load/config-file.ts';
import { findNeeds } from '../../config/output/guess/project-needs.ts';
import { guessGates } from '../../config/output/guess-gates.ts';
import type { Host } from '../../config/config.ts';
import { basename, join, relative } from 'node:path';
import { guessMore, readRootFiles, readWorkflows, warnOfImage, type VersionsIn } from './project-files.ts';
import { writeFile } from 'node:fs/promises';
import { constants } from 'node:fs';
import type { GuessedSettings } from '../../config/output/guess/guess.ts';

export interface Initialised {
  /** The path of the written configuration. */
  path: string;
  /** All written files, relative to the top of the repository. */
  files: string[];
  /** The name of the repository's folder, and its main language; undefined: not detected. */
  project: string;
  language: string | undefined;
  agent: string;
  setup: string[];
  gates: string[];
  /** Further settings that were detected and are used, and those that are only comments. */
  found: GuessedSettings['settings'];
  /** The number of imported tasks. */
  tasks: number;
  /** What was taken from files of other tools, and what was not, a sentence each. */
  imported: string[];
  /** By gate, the files from which it was guessed. */
  sources: Record<string, string[]>;
  /** The hosts that setup may reach. */
  registries: string[];
  hosts: string[];
  /** Problems that prevent a run, one sentence each. */
  warnings: string[];
  /** The PRD in a usual place, relative to the top of the repository. */
  prd: string | undefined;
  /** The folder of PRDs of another tool. */
  queue: string | undefined;
}

/** What was found, with the choices that apply without a user. */
export interface InitProposal extends InitChoices {
  root: string;
  imports: Imports;
  /** Further settings, each with what it is and why. */
  found: GuessedSettings['settings'];
}

export interface Init {
  host: Host;
  folder: string;
  force: boolean;
  /** A file with tasks to import, absolute; by default, those in the usual places of other tools. */
  from?: string | undefined;
  /** Lets a user change the proposal. Nothing is written if it throws. */
  choose?: (proposal: InitProposal) => Promise<InitChoices>;
  versionsIn: VersionsIn;
}

/**
 * Writes a commented halo.toml into the repository that `folder` belongs to, and a PRD with imported tasks. Throws USAGE if
 * there is a configuration, NOT_A_GIT_REPO, CONFIG_INVALID.
 */
export async function initConfig(init: Init): Promise<Initialised> {
  const { host, folder, force, versionsIn } = init;
  const facts = await inspectRepo(folder).catch(unlessEmpty);
  const root = facts?.root ?? folder;
  const old = await findRepoConfig(root);
  if (old !== undefined && !force)
    throw new HaloError('USAGE', `The configuration ${old.path} already exists.`, {
      hint: 'Edit it, or overwrite it with --force.',
    });
  const path = old?.path ?? join(root, 'halo.toml');
  const files = await readRootFiles(root);
  const workflows = await readWorkflows(root);
  const detected = guessGates(files, workflows);
  const imports = await listImports(root, init.from);
  const known = await discoverPrd({ repo: root, hint: '' }).then((at) => relative(root, at), unlessNoPrd);
  const found = await guessMore(root);
  const proposal: InitProposal = {
    root,
    imports,
    found: found.settings,
    useFound: true,
    agent: imports.config === undefined && imports.swanson === undefined ? 'codex' : 'claude',
    setup: detected.setup,
    gates: detected.gates,
    importConfig: true,
    // Tasks that were imported before, or are replaced by a PRD, are not imported again.
    importTasks: init.from !== undefined || known === undefined,
  };
  const chosen = (await init.choose?.(proposal)) ?? proposal;
  const guess = { ...detected, setup: chosen.setup, gates: chosen.gates };
  const settings = settingsFrom(imports, chosen);
  const tasks = chosen.importTasks ? imports.tasks : undefined;
  const written: string[] = [];
  // The configuration is last: it shows that everything was written.
  if (tasks !== undefined) written.push(await writeImportedPrd(root, tasks));
  const flag = old === undefined ? NEW : OVER;
  const used = chosen.useFound ? found : undefined;
  await writeFile(path, renderInitTemplate(guess, settings, used), { flag }).catch(
    async (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ELOOP' || !(await isInside(root, path)))
        throw new HaloError('CONFIG_INVALID', `${path} is a link; halo does not write through links.`, {
          hint: 'Remove the link.',
          cause,
        });
      cannotWrite(path)(cause);
    },
  );
  written.push(relative(root, path));
  const { setup, gates, sources, hosts, keeps } = guess;
  // What a repository names may not be allowed to it here: the file says so, and its other lines are right.
  const read = await readConfig({ host, folder: root, profile: undefined, set: [] }).catch(unlessInvalid);
  const warnings = [
    ...('problems' in read
      ? read.problems
      : await warnOfImage({ ...read.config, setup, gates }, findNeeds(files, workflows), versionsIn)),
    ...(await warnOfKept(root, keeps)),
    ...(await warnOfLeft(root, [...setup, ...gates])),
    ...(facts === undefined ? [] : await warnOfContents({ gitDir: facts.gitDir, commit: facts.head })),
    ...imports.refused,
    ...(used?.notes ?? []),
  ];
  return {
    path,
    files: written,
    project: basename(root),
    language: languageOf(files),
    agent: chosen.agent,
    setup,
    gates,
    sources,
    registries: registriesOf(setup),
    hosts,
    found: used?.settings ?? [],
    warnings,
    tasks: tasks?.open ?? 0,
    imported: describeImports(imports, chosen, 'problems' in read ? '' : read.config.model.name),
    prd: tasks === undefined ? known : IMPORTED_NAME,
    queue: chosen.importConfig ? imports.swanson?.queue?.folder : undefined,
  };
}

const LANGUAGES: Record<string, string> = {
  'tsconfig.json': 'typescript',
  'package.json': 'javascript',
  'pyproject.toml': 'python',
  'requirements.txt': 'python',
  'setup.cfg': 'python',
  'Cargo.toml': 'rust',
  'go.mod': 'go',
  'pom.xml': 'java',
  'build.gradle': 'java',
  Gemfile: 'ruby',
};

function languageOf(files: ReadonlyMap<string, string>): string | undefined {
  return Object.entries(LANGUAGES).find(([file]) => files.has(file))?.[1];
}

/** Git must ignore what setup installs, because all other untracked files are removed before the gates. */
async function warnOfKept(root: string, keeps: readonly string[]): Promise<string[]> {
  const open = await findUnignoredFolders(root, keeps);
  if (open.length === 0) return [];
  const lines = open.map((path) => `/${path}/`).join(' and ');
  return [`Add ${lines} to .gitignore: what setup puts there is removed before the gates unless git ignores it.`];
}

/** What commands leave in the workspace is part of an agent's change unless git ignores it. */
const LEFT_BY: [command: RegExp, folder: string][] = [
  [/^(?:npm|pnpm|yarn|bun)\b/, 'node_modules'],
  [/\bvenv \.venv\b/, '.venv'],
  // Next to each module that it loads.
  [/\bpytest\b/, '__pycache__'],
];

async function warnOfLeft(root: string, commands: readonly string[]): Promise<string[]> {
  const left = LEFT_BY.filter(([command]) => commands.some((each) => command.test(each)));
  const open = await findUnignoredFolders(
    root,
    left.map(([, folder]) => folder),
  );
  if (open.length === 0) return [];
  const lines = open.map((folder) => `${folder}/`).join(' and ');
  return [`Add ${lines} to .gitignore: otherwise what setup and tests leave there is part of each change.`];
}

function unlessInvalid(error: unknown): { problems: string[] } {
  if (error instanceof HaloError && error.code === 'CONFIG_INVALID') return { problems: error.message.split('\n') };
  throw error;
}

function unlessNoPrd(error: unknown): undefined {
  if (error instanceof HaloError && error.code === 'PRD_UNREADABLE') return undefined;
  throw error;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
/** A repository may contain the file as a link to another place. */
const NEW = O_WRONLY | O_CREAT | O_EXCL;
const OVER = O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
