import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { PRD_FILE, PRDS_FOLDER } from '../../core/prd/prd-names.ts';
import { createFolders, isInside } from '../../lib/fs.ts';
import { listSome } from '../../lib/text.ts';
import type { Imports, TaskImport } from './list-imports.ts';
import { swansonSettings } from './find-swanson.ts';
import { cannotWrite } from './write-error.ts';

/** What a user decides before anything is written. */
export interface InitChoices {
  agent: string;
  setup: string[];
  gates: string[];
  /** Whether the settings of `found` are used. */
  useFound: boolean;
  /** Whether the settings of another tool are used, and its tasks become a PRD. */
  importConfig: boolean;
  importTasks: boolean;
}

/** The name of the PRD with imported tasks. */
export const IMPORTED_NAME = 'main';

/** The settings that differ from the defaults. */
export function settingsFrom({ config, prompt, specs, swanson }: Imports, chosen: InitChoices): Map<string, unknown> {
  const settings = new Map<string, unknown>([['agent', chosen.agent]]);
  if (!chosen.importConfig) return settings;
  for (const [key, value] of swanson === undefined ? [] : swansonSettings(swanson, chosen.gates))
    settings.set(key, value);
  for (const [key, value] of config?.settings ?? []) settings.set(key, value);
  if (prompt !== undefined) settings.set('prompt.before', prompt);
  if (specs.length > 0) settings.set('prompt.specs', specs);
  return settings;
}

/** What a user should know about the files of another tool. `model`: the name of the configured model. */
export function describeImports(
  { config, prompt, specs, tasks, swanson }: Imports,
  { importConfig, importTasks, gates }: InitChoices,
  model: string,
): string[] {
  const lines: string[] = [];
  if (importConfig && swanson !== undefined) {
    const keys = swansonSettings(swanson, gates).map(([key]) => key);
    lines.push(`swanson: ${listSome(keys, MAX_KEYS)}`);
    if (!keys.includes('tests.first'))
      lines.push(
        'swanson: no gate runs pytest; for tests first, set tests.first and tests.command (docs/tests-first.md)',
      );
  }
  if (config !== undefined && importConfig) {
    const { path, settings, requestsPerHour: limit, droppedTools, unread, unused } = config;
    const rate = (sessions: number) =>
      `rate.${JSON.stringify(model)}.rph = ${sessions * REQUESTS_PER_SESSION} # ${sessions} sessions of ${REQUESTS_PER_SESSION} requests`;
    const own = [...config.own, ...(limit === undefined ? [] : [rate(limit)])];
    lines.push(`${path}: ${listSome([...settings.keys()], MAX_LISTED) || 'no settings'}`);
    for (const line of own.slice(0, MAX_LISTED))
      lines.push(`${path}: only your own config.toml (HALO_HOME) may set ${line}`);
    if (droppedTools.length > 0)
      lines.push(
        `${path}: not part of agents.claude.tools, which names whole tools: ${listSome(droppedTools, MAX_LISTED)}`,
      );
    if (unread.length > 0) lines.push(`${path}: not a plain value in its limits: ${listSome(unread, MAX_LISTED)}`);
    if (unused.length > 0) lines.push(`${path}: not used by halo: ${listSome(unused, MAX_LISTED)}`);
  }
  if (importConfig && prompt !== undefined)
    lines.push(
      `${prompt}: every prompt begins with it, as committed; remove what it says about the plan and HANK_STATUS`,
    );
  if (importConfig) lines.push(...specs.map((glob) => `${glob}: specifications for every prompt`));
  if (tasks !== undefined && importTasks) {
    const what = tasks.open === 1 ? '1 open task' : `${tasks.open} open tasks`;
    lines.push(`${tasks.path}: ${what}, now the PRD ${IMPORTED_NAME}; the file is unchanged`);
  }
  return lines;
}

/** hank counts sessions, halo the requests to the model, of which a session sends many. */
const REQUESTS_PER_SESSION = 50;
const MAX_LISTED = 8;
const MAX_KEYS = 12;

/** Writes the imported tasks as a named PRD and returns its path. Throws USAGE if there is one of this name. */
export async function writeImportedPrd(root: string, { text }: TaskImport): Promise<string> {
  const path = join(PRDS_FOLDER, IMPORTED_NAME, PRD_FILE);
  const file = join(root, path);
  if (!(await isInside(root, file)))
    throw new HaloError('USAGE', `${file} is reached through a link that leads out of ${root}.`, {
      hint: 'Remove the link.',
    });
  await createFolders(dirname(file)).catch(cannotWrite(file));
  await writeFile(file, text, { flag: 'wx' }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') cannotWrite(file)(cause);
    throw new HaloError('USAGE', `The PRD ${file} already exists; the tasks would replace it.`, {
      hint: 'Rename or remove it, or run `halo init --no-import`.',
      cause,
    });
  });
  return path;
}
