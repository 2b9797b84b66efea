import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '../../../src/core/run/state.ts';
import { openHalo, type TestHalo } from './halo.ts';
import { startModelServer, type Lane, type ModelServer, type Turn } from '../model/model-server.ts';
import { makeRepository, type TestRepository } from '../repository/repository.ts';

/** halo with a provider whose models follow scripts, for stories that real agents implement. */
export interface ModelHalo extends TestHalo {
  newRepository(files?: Record<string, string>): TestRepository;
  serve(script: Turn[] | Lane[]): Promise<ModelServer>;
  /** Runs the story `hello` with an agent whose model does this; `settings` say which agent. */
  implement(turns: Turn[] | Lane[], settings: string[], repository?: TestRepository): Promise<Implemented>;
  /** Puts the cassette of the story `hello` where a replay finds it, and returns that folder. */
  keepCassette(recorded: RunState): string;
}

export interface Implemented {
  state: RunState;
  server: ModelServer;
  repository: TestRepository;
  /** A file of the run. */
  read: (path: string) => string;
}

const KEY_VARIABLE = 'HALO_TEST_MODEL_KEY';

/** `key` is the key that only the provider may see. */
export async function openModelHalo(key: string): Promise<ModelHalo> {
  process.env[KEY_VARIABLE] = key;
  const halo = await openHalo({ concurrency: 4 });
  const servers: ModelServer[] = [];
  const repositories: TestRepository[] = [];
  const newRepository = (files: Record<string, string> = {}) => {
    const repository = makeRepository(files);
    repositories.push(repository);
    return repository;
  };
  const serve = async (script: Turn[] | Lane[]) => {
    const server = await startModelServer(isLanes(script) ? { lanes: script } : { turns: script });
    servers.push(server);
    return server;
  };
  return {
    ...halo,
    newRepository,
    serve,
    implement: async (turns, settings, repository = newRepository()) => {
      const server = await serve(turns);
      const state = await halo.run(repository.root, [{ id: 'hello' }], modelAt(server.url, settings));
      return { state, server, repository, read: (path) => halo.readFile(state.runId, path) };
    },
    keepCassette: ({ runId }) => {
      const folder = join(halo.home, `cassettes-${runId}`);
      mkdirSync(folder);
      copyFileSync(join(halo.home, 'runs', runId, 'artifacts/hello/1/cassette.jsonl'), join(folder, 'hello.jsonl'));
      return folder;
    },
    close: async () => {
      delete process.env[KEY_VARIABLE];
      await halo.close();
      for (const repository of repositories) repository.remove();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** Settings for stories that are tried once, with the provider at `url`. */
export function modelAt(url: string, more: string[]): string[] {
  return [
    `model.base_url=${url}`,
    `model.key_env=${KEY_VARIABLE}`,
    'gates=["true"]',
    'retry.attempts=1',
    'retry.provider.retries=0',
    'retry.backoff="10ms"',
    ...more,
  ];
}

/** The same from cassettes, without a provider and without a key. */
export function replaying(cassettes: string, more: string[]): string[] {
  const offline = [
    'model.key_env=HALO_TEST_NO_KEY',
    'model.mode=replay',
    `model.cassettes=${JSON.stringify(cassettes)}`,
  ];
  return modelAt('http://127.0.0.1:9/v1', [...more, ...offline]);
}

/** The tree that a run made. */
export function treeOf(repository: TestRepository, { runId }: RunState): string {
  return repository.git('rev-parse', `halo/${runId}^{tree}`);
}

function isLanes(script: Turn[] | Lane[]): script is Lane[] {
  return script.every((entry) => 'turns' in entry);
}
