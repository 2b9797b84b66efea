import type { PushedImage } from '../sandbox/docker/image/push-image.ts';
import type { Finding } from '../api/doctor/doctor-finding.ts';
import type { Served } from '../api/http/serve-api.ts';
import type { LocalOperations } from '../api/local.ts';
import type { Operations } from '../api/operations.ts';
import type { CheckedCommand, CheckQuery } from '../api/repository/check-repository.ts';
import type { Init, Initialised } from '../api/repository/init-config.ts';
import type { WatchRuns } from '../api/runs/watch-runs.ts';
import type { RefusedRun } from '../api/submit/record-refused-run.ts';
import type { Config, Host, OidcSettings } from '../config/config.ts';
import { findCredentials, stripCredentials } from '../core/text/address-credentials.ts';
import { ignore } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { StdioStreams } from '../mcp/serve-stdio.ts';
import type { Pager } from './output/terminal-programs.ts';
import { openLog } from './run/open-log.ts';

export interface LocalWorker {
  /** How many stories it runs in parallel. */
  concurrency: number;
  close(): Promise<void>;
}

interface OpenOptions {
  /**
   * Runs will be executed by this process, so a missing requirement is an error before anything is queued. `if-needed`: by
   * this process unless another worker of this machine is running.
   */
  executesHere?: boolean | 'if-needed';
}

/**
 * What a command needs of the process, the machine and its terminal, and what only the program as a whole can put together;
 * tests replace it. Everything is loaded on first use, so that each command starts fast.
 */
export interface Services {
  readHost(): Promise<Host>;
  /** The operations: over HTTP if HALO_URL is set, otherwise in this process. */
  openOperations(options?: OpenOptions): Promise<Operations>;
  /** The operations in this process, also if HALO_URL is set. */
  openLocal(options?: OpenOptions): Promise<LocalOperations>;
  /** Stores a refused run on this machine and returns its directory. */
  recordRefusedRun(refusal: RefusedRun): Promise<string>;
  /**
   * Writes the worker's log to stderr or to <HALO_HOME>/worker.log. With an owner, the worker executes only the runs that
   * were submitted for it. `engine`: the name of one of `[[engines]]`; default: the engine of the environment. Without
   * `concurrency`, the worker takes as many stories as its engine has slots. Throws CONFIG_INVALID.
   */
  startWorker(options: {
    concurrency?: number | undefined;
    log: 'stderr' | 'file';
    owner?: string | undefined;
    engine?: string | undefined;
  }): Promise<LocalWorker>;
  /** The name of this process's user in submitted runs. */
  userName(): Promise<string>;
  /** The number of live workers on this machine that take any run. */
  countWorkers(): Promise<number>;
  /** Follows all runs of this machine until the signal aborts. */
  watchRuns(watch: WatchRuns): Promise<void>;
  /** Serves the HTTP API, and MCP at `/mcp`. */
  serveApi(options: { operations: LocalOperations; listen: string }): Promise<Served>;
  /** Serves MCP over a pair of streams until the client closes its end. */
  serveMcp(streams: StdioStreams): Promise<void>;
  /** Checks this machine, with the agent and the keys of the repository of `folder`, if it is in one. */
  diagnose(folder: string): Promise<Finding[]>;
  /** Runs setup and gates of a checkout on this machine, without a run. */
  check(query: CheckQuery): Promise<CheckedCommand[]>;
  initConfig(options: Pick<Init, 'folder' | 'force' | 'from' | 'choose'>): Promise<Initialised>;
  /** Returns the image's id. `server`: builds the image of the services in compose.yaml instead of the sandbox's. */
  buildImage(options: { force: boolean; server: boolean; log: (line: string) => void }): Promise<string>;
  /** Sends an image of this machine to a configured engine. */
  pushImage(push: {
    engine: string;
    image: string;
    onProgress: (sent: number, size: number) => void;
  }): Promise<PushedImage>;
  /** Starts the user's pager; undefined if the user disabled it. */
  openPager(): Promise<Pager | undefined>;
  /** Opens a file in the user's editor. Throws USAGE. */
  editFile(path: string): Promise<void>;
  /** Masks the secrets that this process knows; all of its parts share it. */
  openMasker(): Promise<Masker>;
}

/** The services of a real process. Only this file of the CLI constructs adapters. */
export function composeServices(words: readonly string[]): Services {
  /** Are stored with each run. */
  const args = words.map(stripCredentials);
  const readHost = async () => {
    const [{ processEnv, readFailpoints, readHost }, { armFailpoints }] = await Promise.all([
      import('../config/environment/host.ts'),
      import('../lib/failpoint.ts'),
    ]);
    armFailpoints(readFailpoints(processEnv()));
    return readHost(processEnv());
  };
  /** A secret that one part of the process learns is masked by all. */
  let opened: Promise<Masker> | undefined;
  const masker = () => (opened ??= openMasker(readHost(), words));
  const openLocal = async ({ executesHere = false }: OpenOptions = {}) => {
    const [{ openLocal }, host] = await Promise.all([import('../api/local.ts'), readHost()]);
    const check = executesHere === false ? undefined : await machineCheck();
    const preflight =
      check &&
      (async (config: Config) => {
        if (executesHere === 'if-needed' && (await countWorkers()) > 0) return;
        // Loads, and starts what runs git for the worker, while the engine and Redis answer.
        void import('../worker/main.ts').then(({ prepareWorker }) => prepareWorker()).catch(ignore);
        await check(config);
      });
    return openLocal({
      host,
      args,
      masker: await masker(),
      owning: executesHere === true,
      ...defined({ preflight }),
    });
  };
  const countWorkers = async () => {
    const [{ countWorkers }, { home }] = await Promise.all([import('../store/process-registry.ts'), readHost()]);
    return countWorkers(home);
  };
  return {
    readHost,
    async openOperations(options) {
      const host = await readHost();
      return host.apiUrl === undefined ? openLocal(options) : openRemote(host);
    },
    openLocal,
    async recordRefusedRun(refusal) {
      const { recordRefusedRun } = await import('../api/submit/record-refused-run.ts');
      return recordRefusedRun({ host: await readHost(), args, masker: await masker() }, refusal);
    },
    async startWorker({ concurrency: asked, log, owner, engine: name }) {
      const [{ startWorker }, { DEFAULT_SLOTS, readEngineAddress, requireEngine }, host] = await Promise.all([
        import('../worker/main.ts'),
        import('../config/engine-address.ts'),
        readHost(),
      ]);
      const knowing = { masker: await masker() };
      const configured = name === undefined ? undefined : await requireEngine(host.home, name);
      const engine = configured && (await readEngineAddress(host.home, configured));
      knowing.masker.learn(engine?.tls === undefined ? [] : [engine.tls.key]);
      const concurrency = asked ?? configured?.slots ?? DEFAULT_SLOTS;
      const worker = await startWorker({
        host,
        concurrency,
        log: await openLog(log, { home: host.home, ...knowing }),
        ...knowing,
        ...defined({ owner, engine }),
      });
      return { concurrency, close: () => worker.close() };
    },
    async userName() {
      return (await import('../api/submit/user-name.ts')).userName();
    },
    countWorkers,
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
      const [
        { openMcpEndpoint },
        { ToolRunner },
        { readMcpRules, readServerRules },
        { TOKEN_HOLDER },
        { bindOperations },
      ] = await Promise.all([
        import('../mcp/serve-http.ts'),
        import('../mcp/tool-runner.ts'),
        import('../config/host-rules.ts'),
        import('../api/submit/user-name.ts'),
        import('../api/operations.ts'),
      ]);
      const [{ learnOwnSecrets }, { processEnv }] = await Promise.all([
        import('../worker/learn-secrets.ts'),
        import('../config/environment/host.ts'),
      ]);
      const host = await readHost();
      await learnOwnSecrets(await masker(), { home: host.home, env: processEnv() });
      const asAgent = (name: string, decide: boolean) => ({ by: `${name} by MCP`, ...undecidedUnless(decide) });
      const { operations } = options;
      const mcp = openMcpEndpoint({
        runner: new ToolRunner({ operations: operations.restrictedFor(asAgent(TOKEN_HOLDER, false)) }),
        operationsFor: (caller, decide) =>
          caller.kind === 'owner'
            ? operations.restrictedFor(asAgent(TOKEN_HOLDER, decide))
            : bindOperations(operations.callFor(caller.user, asAgent(caller.user.name, decide))),
        decides: async () => (await readMcpRules(host.home)).decide,
      });
      const rules = await readServerRules(host.home);
      const openProvider = async (settings: OidcSettings, callback: string) => {
        const { openOidcProvider } = await import('../api/sign-in/open-oidc-provider.ts');
        return openOidcProvider(settings, { callback, env: processEnv(), masker: await masker(), home: host.home });
      };
      const { findMissing } = await import('../api/http/health-routes.ts');
      const served = await serveApi({
        ...options,
        ...{ host, masker: await masker(), mcp, rules, openProvider },
        findMissing: () => findMissing(host.home, options.operations),
      });
      const { SERVER_WATCHES } = await import('../api/joined.ts');
      const watching = new AbortController();
      const watched = { home: host.home, takingWorkers: () => operations.takingWorkers() };
      const watches = Promise.all(SERVER_WATCHES.map((watch) => watch(watched, watching.signal)));
      return {
        ...served,
        async close() {
          watching.abort();
          await Promise.all([watches, served.close()]);
        },
      };
    },
    async serveMcp(streams) {
      const [{ serveMcpStdio }, { ToolRunner }, { readMcpRules }, { userName, whoAmI }, host] = await Promise.all([
        import('../mcp/serve-stdio.ts'),
        import('../mcp/tool-runner.ts'),
        import('../config/host-rules.ts'),
        import('../api/submit/user-name.ts'),
        readHost(),
      ]);
      const { decide } = await readMcpRules(host.home);
      const local = host.apiUrl === undefined ? await openLocal() : undefined;
      try {
        const how = undecidedUnless(decide);
        const operations =
          local?.restrictedFor({ by: `${whoAmI()} by MCP`, ...how }, { user: userName() }) ??
          (await openRemote(host, how));
        const { text: mask } = await masker();
        await serveMcpStdio({ runner: new ToolRunner({ operations, mask }), decide }, streams);
      } finally {
        await local?.close();
      }
    },
    async diagnose(folder) {
      const { diagnose } = await import('../api/doctor/diagnose.ts');
      return diagnose(await readHost(), { folder });
    },
    async check(query) {
      const { checkRepository } = await import('../api/repository/check-repository.ts');
      return checkRepository(await readHost(), query);
    },
    async initConfig(options) {
      const [{ initConfig }, { openDockerEngine }, { readProgramVersions }] = await Promise.all([
        import('../api/repository/init-config.ts'),
        import('../sandbox/docker/engine.ts'),
        import('../sandbox/probe-agent.ts'),
      ]);
      const versionsIn = (image: string, programs: readonly string[]) =>
        readProgramVersions(openDockerEngine(), image, programs);
      return initConfig({ ...options, host: await readHost(), versionsIn });
    },
    async buildImage({ server, ...options }) {
      if (server) return (await import('../sandbox/docker/image/server-image.ts')).buildServerImage(options);
      const { buildSandboxImage } = await import('../sandbox/docker/image/image.ts');
      return buildSandboxImage(options);
    },
    async pushImage({ engine, ...push }) {
      const [{ pushImage }, { readEngineAddress, requireEngine }, { home }] = await Promise.all([
        import('../sandbox/docker/image/push-image.ts'),
        import('../config/engine-address.ts'),
        readHost(),
      ]);
      return pushImage({ ...push, to: await readEngineAddress(home, await requireEngine(home, engine)) });
    },
    async openPager() {
      const [{ readPager }, { readCorePager }, { startPager }, { processEnv }] = await Promise.all([
        import('../config/environment/terminal-settings.ts'),
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
        import('../config/environment/terminal-settings.ts'),
        import('../config/environment/host.ts'),
      ]);
      return editFile(readEditor(processEnv()), path);
    },
    openMasker: masker,
  };
}

async function openRemote({ apiUrl = '', apiToken = '' }: Host, how: { undecided?: true } = {}): Promise<Operations> {
  const { openHttp } = await import('../api/http/http-client.ts');
  return openHttp({ url: apiUrl, token: apiToken, ...how });
}

/** Without `[mcp] decide`, the settings of an agent cannot cause what deciding tools do. */
function undecidedUnless(decide: boolean): { undecided?: true } {
  return decide ? {} : { undecided: true };
}

async function machineCheck() {
  const [{ assertMachineReady }, { openDockerEngine }, { processEnv }] = await Promise.all([
    import('../api/submit/preflight.ts'),
    import('../sandbox/docker/engine.ts'),
    import('../config/environment/host.ts'),
  ]);
  return assertMachineReady.bind(undefined, openDockerEngine(), processEnv());
}

async function openMasker(reading: Promise<Host>, words: readonly string[]): Promise<Masker> {
  const [{ openProcessMasker }, { processEnv }, host] = await Promise.all([
    import('../worker/process-masker.ts'),
    import('../config/environment/host.ts'),
    reading,
  ]);
  const masker = openProcessMasker(host, processEnv());
  masker.learn(words.flatMap(findCredentials));
  return masker;
}
