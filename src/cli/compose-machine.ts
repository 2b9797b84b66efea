import type { Finding } from '../api/doctor/doctor-finding.ts';
import type { CheckedCommand, CheckQuery } from '../api/repository/check-repository.ts';
import type { Init, Initialised } from '../api/repository/init-config.ts';
import type { NewProject } from '../api/repository/new-project.ts';
import type { BuildQuery, BuiltSnapshot } from '../api/snapshots/build-repository-snapshot.ts';
import type { SettingFilter } from '../config/output/format-config.ts';
import type { Pager } from './output/terminal-programs.ts';
import type { ServiceContext } from './compose-runs.ts';

/** The settings as text and as data, each with its origin. */
export interface ShownConfig {
  text: string;
  json: Record<string, { value: unknown; origin: string }>;
}

/** The machine, its repositories, configuration and images. */
export interface MachineServices {
  diagnose(): Promise<Finding[]>;
  /** Runs setup and gates of a checkout on this machine, without a run. */
  check(query: CheckQuery): Promise<CheckedCommand[]>;
  /** Makes the snapshot that stories on the checked-out commit begin with. */
  buildSnapshot(query: BuildQuery): Promise<BuiltSnapshot>;
  /** Throws CONFIG_INVALID, and USAGE if no key or table has the name. */
  readConfig(
    query: { folder: string; profile: string | undefined; set: string[] } & SettingFilter,
  ): Promise<ShownConfig>;
  /** The names of all keys, and of the profiles of a folder, for completion. */
  listSettings(folder: string): Promise<{ keys: string[]; profiles: string[] }>;
  initConfig(options: Pick<Init, 'folder' | 'force' | 'from' | 'choose'>): Promise<Initialised>;
  /** Creates a repository with an example. Throws USAGE if the folder is not empty. */
  createProject(project: NewProject): Promise<{ files: string[]; commit: string }>;
  /** Returns the image's id. `server`: builds the image of the services in compose.yaml instead of the sandbox's. */
  buildImage(options: { force: boolean; server: boolean; log: (line: string) => void }): Promise<string>;
  /** Starts the user's pager; undefined if the user disabled it. */
  openPager(): Promise<Pager | undefined>;
  /** Opens a file in the user's editor. Throws USAGE. */
  editFile(path: string): Promise<void>;
}

/** The services for the machine. Modules are loaded on first use. */
export function composeMachineServices({ readHost }: Pick<ServiceContext, 'readHost'>): MachineServices {
  return {
    async diagnose() {
      const { diagnose } = await import('../api/doctor/diagnose.ts');
      return diagnose(await readHost());
    },
    async check(query) {
      const { checkRepository } = await import('../api/repository/check-repository.ts');
      return checkRepository(await readHost(), query);
    },
    async buildSnapshot(query) {
      const { buildRepositorySnapshot } = await import('../api/snapshots/build-repository-snapshot.ts');
      return buildRepositorySnapshot(await readHost(), query);
    },
    async readConfig(query) {
      const [{ readConfig }, { filterSettings, formatConfig, formatConfigJson }] = await Promise.all([
        import('../api/repository/repo-config.ts'),
        import('../config/output/format-config.ts'),
      ]);
      const settings = filterSettings((await readConfig({ host: await readHost(), ...query })).settings, query);
      return { text: formatConfig(settings), json: formatConfigJson(settings) };
    },
    async listSettings(folder) {
      const [{ listProfiles }, { CONFIG_KEYS }] = await Promise.all([
        import('../api/repository/repo-config.ts'),
        import('../config/keys.ts'),
      ]);
      return { keys: [...CONFIG_KEYS.keys()], profiles: await listProfiles({ host: await readHost(), folder }) };
    },
    async initConfig(options) {
      const [{ initConfig }, { openDockerEngine }, { findMissingPrograms }] = await Promise.all([
        import('../api/repository/init-config.ts'),
        import('../sandbox/docker/engine.ts'),
        import('../sandbox/probe-agent.ts'),
      ]);
      const missingIn = (image: string, programs: readonly string[]) =>
        findMissingPrograms(openDockerEngine(), image, programs);
      return initConfig({ ...options, host: await readHost(), missingIn });
    },
    async createProject(project) {
      const { createProject } = await import('../api/repository/new-project.ts');
      return createProject(project);
    },
    async buildImage({ server, ...options }) {
      if (server) return (await import('../sandbox/docker/image/server-image.ts')).buildServerImage(options);
      const { buildSandboxImage } = await import('../sandbox/docker/image/image.ts');
      return buildSandboxImage(options);
    },
    async openPager() {
      const [{ readPager }, { readCorePager }, { startPager }, { processEnv }] = await Promise.all([
        import('../config/environment/editor-and-pager.ts'),
        import('../git/process/git-settings.ts'),
        import('./output/terminal-programs.ts'),
        import('../config/environment/host.ts'),
      ]);
      const pager = await readPager(processEnv(), readCorePager);
      return pager === undefined ? undefined : startPager(pager);
    },
    async editFile(path) {
      const [{ editFile }, { readEditor }, { processEnv }] = await Promise.all([
        import('./output/terminal-programs.ts'),
        import('../config/environment/editor-and-pager.ts'),
        import('../config/environment/host.ts'),
      ]);
      return editFile(readEditor(processEnv()), path);
    },
  };
}
