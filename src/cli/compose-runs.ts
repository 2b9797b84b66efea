import { homedir } from 'node:os';
import type { TaskOptions, TaskWorld } from '../api/compat/lever/perform-task.ts';
import type { LoopOptions, LoopWorld } from '../api/compat/lever/run-loop.ts';
import type { OidcSettings } from '../config/config.ts';
import type { ForeignRun } from '../api/runs/foreign-run.ts';
import type { ResumeCheck } from '../api/runs/assert-resumable.ts';
import type { RefusedRun } from '../api/submit/record-refused-run.ts';
import type { Operations } from '../api/operations.ts';
import type { LocalOperations } from '../api/local.ts';
import type { Served } from '../api/http/serve-api.ts';
import type { CheckedCommit, CommitsQuery } from '../api/runs/check-commits.ts';
import type { Verified, VerifyQuery } from '../api/runs/verify-commit.ts';
import type { WatchRuns } from '../api/runs/watch-runs.ts';
import type { Config, Host } from '../config/config.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import type { StdioStreams } from '../mcp/serve-stdio.ts';
import { openLog } from './run/open-log.ts';
import { defined } from '../lib/guards.ts';

export interface LocalWorker {
  close(): Promise<void>;
}

export interface OpenOptions {
  /**
   * Runs will be executed by this process, so a missing requirement is an error before anything is queued. `if-needed`: by
   * this process unless another worker of this machine is running.
   */
  executesHere?: boolean | 'if-needed';
}

/** What the services of one process share. */
export interface ServiceContext {
  /** The arguments of the command line without credentials, which are stored with each run. */
  args: readonly string[];
  readHost: () => Promise<Host>;
  /** The masker of all parts of the process: a secret that one of them learns is masked by all. */
  masker: () => Promise<Masker>;
}

/** Runs, workers and the API. */
export interface RunServices {
  /** The operations: over HTTP if HALO_URL is set, otherwise in this process. */
  openOperations(options?: OpenOptions): Promise<Operations>;
  /** The operations in this process, also if HALO_URL is set. */
  openLocal(options?: OpenOptions): Promise<LocalOperations>;
  /** Throws if the run cannot be resumed in this folder. */
  assertResumable(check: ResumeCheck): Promise<void>;
  /** The path of the PRD of a run directory outside of HALO_HOME; undefined if it is not a run directory. */
  findForeignPrd(run: ForeignRun): Promise<string | undefined>;
  /** Stores a refused run on this machine and returns its directory. */
  recordRefusedRun(refusal: RefusedRun): Promise<string>;
  /**
   * Writes the worker's log to stderr or to <HALO_HOME>/worker.log. With an owner, the worker executes only the runs that
   * were submitted for it.
   */
  startWorker(options: {
    concurrency: number;
    log: 'stderr' | 'file';
    owner?: string | undefined;
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
  /** Runs the gates of landed commits again on this machine. */
  verify(query: VerifyQuery): AsyncIterable<Verified>;
  /** Decides of new commits, without running anything, whether they may enter a branch. */
  checkCommits(query: Omit<CommitsQuery, 'env'>): AsyncIterable<CheckedCommit>;
  /** Runs the next task of a tasks file and returns the exit code. */
  performTask(options: Omit<TaskOptions, 'userHome'>, world: Omit<TaskWorld, 'host'>): Promise<number>;
  /** Runs a program for one task after the other and returns the exit code. */
  runLoop(options: Omit<LoopOptions, 'userHome'>, world: Omit<LoopWorld, 'env'>): Promise<number>;
}

/** The services for runs. Modules are loaded on first use. */
export function composeRunServices({ args, readHost, masker }: ServiceContext): RunServices {
  const openLocal = async ({ executesHere = false }: OpenOptions = {}) => {
    const [{ openLocal }, host] = await Promise.all([import('../api/local.ts'), readHost()]);
    const check = executesHere === false ? undefined : await machineCheck();
    const ifNeeded = async (config: Config) => ((await countWorkers()) === 0 ? check?.(config) : undefined);
    return openLocal({
      host,
      args,
      masker: await masker(),
      owning: executesHere === true,
      ...defined({ preflight: executesHere === 'if-needed' ? ifNeeded : check }),
    });
  };
  const countWorkers = async () => {
    const [{ countWorkers }, { home }] = await Promise.all([import('../store/process-registry.ts'), readHost()]);
    return countWorkers(home);
  };
  return {
    async openOperations(options) {
      const host = await readHost();
      return host.apiUrl === undefined ? openLocal(options) : openRemote(host);
    },
    openLocal,
    async assertResumable(check) {
      const { assertResumable } = await import('../api/runs/assert-resumable.ts');
      return assertResumable(check);
    },
    async findForeignPrd(run) {
      const { findForeignPrd } = await import('../api/runs/foreign-run.ts');
      return findForeignPrd(run);
    },
    async recordRefusedRun(refusal) {
      const { recordRefusedRun } = await import('../api/submit/record-refused-run.ts');
      return recordRefusedRun({ host: await readHost(), args, masker: await masker() }, refusal);
    },
    async startWorker({ concurrency, log, owner }) {
      const [{ startWorker }, host] = await Promise.all([import('../worker/main.ts'), readHost()]);
      const mine = defined({ owner });
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
      const { findMissing } = await import('../api/metrics/find-missing.ts');
      return serveApi({
        ...options,
        ...{ host, masker: await masker(), mcp, rules, openProvider },
        findMissing: () => findMissing(host.home, options.operations),
      });
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
    async *verify(query) {
      const { verify } = await import('../api/runs/verify-commit.ts');
      yield* verify(await readHost(), query);
    },
    async *checkCommits(query) {
      const [{ checkCommits }, { processEnv }] = await Promise.all([
        import('../api/runs/check-commits.ts'),
        import('../config/environment/host.ts'),
      ]);
      yield* checkCommits(await readHost(), { ...query, env: processEnv() });
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
