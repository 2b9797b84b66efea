import { homedir } from 'node:os';
import type { Finding } from '../api/finding.ts';
import type { Import, ImportRequest } from '../api/repository/import-document.ts';
import type { TaskOptions, TaskWorld } from '../api/compat/lever/perform-task.ts';
import type { LoopOptions, LoopWorld } from '../api/compat/lever/run-loop.ts';
import type { CheckedCommand, CheckQuery } from '../api/repository/check-repository.ts';
import type { PrdSearch } from '../api/repository/discover-prd.ts';
import type { ResumeCheck } from '../api/check-resume.ts';
import type { Refusal } from '../api/submit/record-refused-run.ts';
import type { BatchEntry, Operations } from '../api/operations.ts';
import type { Initialised } from '../api/repository/init-config.ts';
import type { Served } from '../api/http/serve-api.ts';
import type { Verified, VerifyQuery } from '../api/runs/verify-commit.ts';
import type { WatchRuns } from '../api/runs/watch-runs.ts';
import type { Host } from '../config/config.ts';
import type { ShownSettings } from '../config/output/format-config.ts';
import { credentialsIn, withoutCredentialsIn } from '../core/address-credentials.ts';
import type { Prd } from '../core/prd/prd.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { openLog } from './run/open-log.ts';
import type { Pager } from './output/pager.ts';

export interface Worker {
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Runs are to be executed on this machine: what is missing for that is an error before anything is queued. */
  executesHere?: boolean;
}

/** The settings in words and as data, each with its origin. */
export interface ShownConfig {
  text: string;
  json: Record<string, { value: unknown; origin: string }>;
}

/** A PRD as it was read; the path is for messages. */
export interface PrdFile {
  path: string;
  bytes: Uint8Array;
}

/** What commands can ask for. Everything is loaded when asked for, so that each command starts fast. */
export interface Services {
  readHost(): Promise<Host>;
  /** The operations: over HTTP when HALO_URL is set, else in this process. */
  openOperations(options?: OpenOptions): Promise<Operations>;
  /** The operations in this process, whatever HALO_URL says. */
  openLocal(options?: OpenOptions): Promise<Operations>;
  /** Throws what stands against letting a run go on from here. */
  checkResume(check: ResumeCheck): Promise<void>;
  /** Keeps a refused run on this machine; answers with its directory. */
  keepRefusal(refusal: Refusal): Promise<string>;
  /**
   * The worker's own log goes to stderr, or to <HALO_HOME>/worker.log where stderr is for people. With an owner, it works
   * only on the runs that were submitted for it.
   */
  startWorker(options: { concurrency: number; log: 'stderr' | 'file'; owner?: string | undefined }): Promise<Worker>;
  /** The user of this process, as submitted runs are told apart. */
  userName(): Promise<string>;
  /** How many workers live on this machine that take any run. */
  countWorkers(): Promise<number>;
  /** Follows all runs of this machine until the signal. */
  watchRuns(watch: WatchRuns): Promise<void>;
  serveApi(options: { operations: Operations; listen: string }): Promise<Served>;
  diagnose(): Promise<Finding[]>;
  /** Runs gates again on this machine. */
  verify(query: VerifyQuery): AsyncIterable<Verified>;
  /** Runs setup and gates of a checkout on this machine, without a run. */
  check(query: CheckQuery): Promise<CheckedCommand[]>;
  /** Throws CONFIG_INVALID, and USAGE when no key or table has the name. */
  readConfig(
    query: { folder: string; profile: string | undefined; set: string[] } & ShownSettings,
  ): Promise<ShownConfig>;
  /** Names of keys of the configuration and of the profiles of a folder, for completion. */
  listSettings(folder: string): Promise<{ keys: string[]; profiles: string[] }>;
  /** Throws PRD_INVALID, and USAGE when there is no such dialect. */
  parsePrd(file: PrdFile & { as: string | undefined }): Promise<Prd>;
  /** The path of the one PRD that a repository has in a usual place. Throws PRD_UNREADABLE. */
  discoverPrd(search: PrdSearch): Promise<string>;
  /** Reads a batch file, and the PRDs of its repositories. Throws USAGE, PRD_UNREADABLE. */
  readBatch(path: string): Promise<BatchEntry[]>;
  convertPrd(file: PrdFile & { to: string }): Promise<{ text: string; warnings: string[]; lost: string[] }>;
  /** Prepares the run that turns a document into a PRD. Throws PRD_UNREADABLE. */
  openImport(request: ImportRequest): Promise<Import>;
  /** Runs the next task of a tasks file. Answers with the exit code. */
  performTask(options: Omit<TaskOptions, 'userHome'>, world: Omit<TaskWorld, 'host'>): Promise<number>;
  /** Has a program run one task after the other. Answers with the exit code. */
  runLoop(options: Omit<LoopOptions, 'userHome'>, world: Omit<LoopWorld, 'env'>): Promise<number>;
  /** Starts the pager of the person at the terminal; undefined where they want none. */
  openPager(): Promise<Pager | undefined>;
  /** Lets the person change a file in their editor. Throws USAGE. */
  editFile(path: string): Promise<void>;
  initConfig(options: { folder: string; force: boolean }): Promise<Initialised>;
  /** Answers with the image's id. `server`: that of the services in compose.yaml, instead of the sandbox's. */
  buildImage(options: { force: boolean; server: boolean; log: (line: string) => void }): Promise<string>;
}

/** The services of a real process: the only place of the CLI that knows how halo is put together. */
export function composeServices(words: readonly string[]): Services {
  // They are kept with each run.
  const args = words.map(withoutCredentialsIn);
  const readHost = async () => {
    const [{ processEnv, readFailpoints, readHost }, { armFailpoints }] = await Promise.all([
      import('../config/environment/host.ts'),
      import('../lib/failpoint.ts'),
    ]);
    armFailpoints(readFailpoints(processEnv()));
    return readHost(processEnv());
  };
  let opened: Promise<Masker> | undefined;
  /** One for all parts of the process: what one of them learns, none of them tells. */
  const masker = () => (opened ??= openMasker(readHost(), words));
  const openLocal = async ({ executesHere = false }: OpenOptions = {}) => {
    const [{ openLocal }, host] = await Promise.all([import('../api/local.ts'), readHost()]);
    return openLocal({
      host,
      args,
      masker: await masker(),
      ...(executesHere ? { preflight: await machineCheck(), owning: true } : {}),
    });
  };
  return {
    readHost,
    openLocal,
    async openOperations(options) {
      const host = await readHost();
      if (host.apiUrl === undefined) return openLocal(options);
      const { openHttp } = await import('../api/http-client.ts');
      return openHttp({ url: host.apiUrl, token: host.apiToken ?? '' });
    },
    async checkResume(check) {
      const { checkResume } = await import('../api/check-resume.ts');
      return checkResume(check);
    },
    async keepRefusal(refusal) {
      const { keepRefusal } = await import('../api/submit/record-refused-run.ts');
      return keepRefusal({ host: await readHost(), args, masker: await masker() }, refusal);
    },
    async startWorker({ concurrency, log, owner }) {
      const [{ startWorker }, host] = await Promise.all([import('../worker/main.ts'), readHost()]);
      const mine = owner === undefined ? {} : { owner };
      const knowing = { masker: await masker() };
      return startWorker({
        host,
        concurrency,
        log: await openLog(log, { home: host.home, ...knowing }),
        ...knowing,
        ...mine,
      });
    },
    async userName() {
      return (await import('../api/user-name.ts')).userName();
    },
    async countWorkers() {
      const [{ countWorkers }, { home }] = await Promise.all([import('../store/presence.ts'), readHost()]);
      return countWorkers(home);
    },
    async watchRuns(watch) {
      const [{ watchRuns }, { openStore }, { home }] = await Promise.all([
        import('../api/runs/watch-runs.ts'),
        import('../store/store.ts'),
        readHost(),
      ]);
      return watchRuns(openStore(home, { transcribe: () => [] }), watch);
    },
    async serveApi(options) {
      const { serveApi } = await import('../api/http/serve-api.ts');
      const [{ learnOwnSecrets }, { processEnv }] = await Promise.all([
        import('../worker/learn-secrets.ts'),
        import('../config/environment/host.ts'),
      ]);
      const host = await readHost();
      await learnOwnSecrets(await masker(), { home: host.home, env: processEnv() });
      return serveApi({ ...options, host, masker: await masker() });
    },
    async *verify(query) {
      const { verify } = await import('../api/runs/verify-commit.ts');
      yield* verify(await readHost(), query);
    },
    async diagnose() {
      const { diagnose } = await import('../api/doctor/diagnose.ts');
      return diagnose(await readHost());
    },
    async check(query) {
      const { checkRepository } = await import('../api/repository/check-repository.ts');
      return checkRepository(await readHost(), query);
    },
    async readConfig(query) {
      const [{ readConfig }, { pickSettings, showConfig, showConfigJson }] = await Promise.all([
        import('../api/repository/repo-config.ts'),
        import('../config/output/format-config.ts'),
      ]);
      const settings = pickSettings((await readConfig({ host: await readHost(), ...query })).settings, query);
      return { text: showConfig(settings), json: showConfigJson(settings) };
    },
    async listSettings(folder) {
      const [{ listProfiles }, { CONFIG_KEYS }] = await Promise.all([
        import('../api/repository/repo-config.ts'),
        import('../config/keys.ts'),
      ]);
      return { keys: [...CONFIG_KEYS.keys()], profiles: await listProfiles({ host: await readHost(), folder }) };
    },
    async parsePrd({ path, bytes, as }) {
      const [{ parsePrd }, { requireDialect }] = await Promise.all([
        import('../prd/parse-prd.ts'),
        import('../prd/dialect-registry.ts'),
      ]);
      return parsePrd(bytes, path, as === undefined ? undefined : requireDialect(as));
    },
    async discoverPrd(search) {
      const { discoverPrd } = await import('../api/repository/discover-prd.ts');
      return discoverPrd(search);
    },
    async readBatch(path) {
      const { readBatch } = await import('../api/submit/batch-file.ts');
      return readBatch(path);
    },
    async convertPrd({ path, bytes, to }) {
      const [{ convertPrd }, { requireDialect }] = await Promise.all([
        import('../prd/convert-prd.ts'),
        import('../prd/dialect-registry.ts'),
      ]);
      return convertPrd(bytes, path, requireDialect(to));
    },
    async openImport(request) {
      const { openImport } = await import('../api/repository/import-document.ts');
      return openImport((await readHost()).home, request);
    },
    async performTask(options, world) {
      const { performTask } = await import('../api/compat/lever/perform-task.ts');
      return performTask({ ...options, userHome: homedir() }, { ...world, host: await readHost() });
    },
    async runLoop(options, world) {
      const [{ runLoop }, { processEnv }] = await Promise.all([
        import('../api/compat/lever/run-loop.ts'),
        import('../config/environment/host.ts'),
      ]);
      return runLoop({ ...options, userHome: homedir() }, { ...world, env: processEnv() });
    },
    async openPager() {
      const [{ readPager }, { readCorePager }, { startPager }, { processEnv }] = await Promise.all([
        import('../config/pager.ts'),
        import('../git/process/core-pager.ts'),
        import('./output/pager.ts'),
        import('../config/environment/host.ts'),
      ]);
      const pager = await readPager(processEnv(), readCorePager);
      return pager === undefined ? undefined : startPager(pager);
    },
    async editFile(path) {
      const [{ editFile }, { readEditor }, { processEnv }] = await Promise.all([
        import('./output/edit-file.ts'),
        import('../config/editor.ts'),
        import('../config/environment/host.ts'),
      ]);
      return editFile(readEditor(processEnv()), path);
    },
    async initConfig(options) {
      const [{ initConfig }, { openDocker }, { findMissingPrograms }] = await Promise.all([
        import('../api/repository/init-config.ts'),
        import('../sandbox/docker/engine.ts'),
        import('../sandbox/probe-agent.ts'),
      ]);
      const missingIn = (image: string, programs: readonly string[]) =>
        findMissingPrograms(openDocker(), image, programs);
      return initConfig({ ...options, host: await readHost(), missingIn });
    },
    async buildImage({ server, ...options }) {
      if (server) return (await import('../sandbox/docker/image/server-image.ts')).buildServerImage(options);
      const { buildSandboxImage } = await import('../sandbox/docker/image/image.ts');
      return buildSandboxImage(options);
    },
  };
}

async function openMasker(reading: Promise<Host>, words: readonly string[]): Promise<Masker> {
  const [{ openProcessMasker }, { processEnv }, host] = await Promise.all([
    import('../worker/process-masker.ts'),
    import('../config/environment/host.ts'),
    reading,
  ]);
  const masker = openProcessMasker(host, processEnv());
  masker.learn(words.flatMap(credentialsIn));
  return masker;
}

async function machineCheck() {
  const [{ checkMachine }, { openDocker }, { processEnv }] = await Promise.all([
    import('../api/preflight.ts'),
    import('../sandbox/docker/engine.ts'),
    import('../config/environment/host.ts'),
  ]);
  return checkMachine.bind(undefined, openDocker(), processEnv());
}
