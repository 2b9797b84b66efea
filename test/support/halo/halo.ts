import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import type { SubmitRequest } from '../../../src/api/operations/schemas.ts';
import type { Host } from '../../../src/config/config.ts';
import type { EngineAddress } from '../../../src/core/engine/engine-address.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { sleep } from '../../../src/lib/async.ts';
import { startWorker, type Worker } from '../../../src/worker/main.ts';
import { addProbeResults } from '../suite/probed-engine.ts';
import { hostOf } from './host.ts';
import { removeSnapshots } from './remove-snapshots.ts';
import { readJournal } from './read-journal.ts';

/** halo as a whole in a HALO_HOME of its own: embedded Redis, operations and a worker, in this process. */
export interface TestHalo {
  home: string;
  host: Host;
  operations: LocalOperations;
  worker: Worker;
  /** Submits a PRD for one repository; `settings` are `key=value`. */
  submit(repo: string, stories: TestStory[], settings: string[]): Promise<string>;
  /** The same, followed to its end. */
  run(repo: string, stories: TestStory[], settings: string[]): Promise<RunState>;
  untilEnd(runId: string): Promise<RunState>;
  readFile(runId: string, path: string): string;
  /** The events of a run. */
  journal(runId: string): JournalEvent[];
  close(): Promise<void>;
}

export interface TestStory {
  id: string;
  title?: string;
  passes?: boolean;
  dependsOn?: string[];
  agent?: string;
  model?: string;
  effort?: string;
  labels?: string[];
  acceptanceCriteria?: string[];
  testsFirst?: 'on' | 'report' | 'off';
}

/** A PRD of the ralph dialect as a submit request wants it. */
export function prdOf(stories: TestStory[], more: Record<string, unknown> = {}): SubmitRequest['prd'] {
  const userStories = stories.map(
    ({ id, title, passes, dependsOn, acceptanceCriteria = ['It works.'], testsFirst, ...fields }, index) => ({
      ...fields,
      id,
      title: title ?? `Story ${id}`,
      description: '',
      acceptanceCriteria,
      priority: index + 1,
      passes: passes ?? false,
      ...(dependsOn === undefined ? {} : { dependsOn }),
      ...(testsFirst === undefined ? {} : { testsFirst }),
    }),
  );
  const document = { project: 'Test', description: 'A test.', ...more, userStories };
  return { path: '/tmp/prd.json', bytes: new TextEncoder().encode(JSON.stringify(document)) };
}

/**
 * Settings for an agent that is a shell script: it finds the prompt on stdin and the repository in its folder. Gates do not
 * run on the base commit, unless `more` sets `tests.baseline`.
 */
export function scripted(script: string, gates: string[] = ['true'], more: string[] = []): string[] {
  return [
    'agent=command',
    `agents.command.run=${JSON.stringify(script)}`,
    `gates=${JSON.stringify(gates)}`,
    'retry.attempts=1',
    'retry.tests.retries=0',
    'retry.policy.retries=0',
    'retry.environment.retries=0',
    'retry.backoff="10ms"',
    'breaker.cooldown="10ms"',
    'tests.baseline="never"',
    ...more,
  ];
}

/** The same for a request over the network, which decides nothing about breakers and the gates on the base commit. */
export function remotelyScripted(script: string, gates?: string[], more?: string[]): string[] {
  return scripted(script, gates, more).filter((setting) => !/^(?:breaker|tests\.baseline)\b/.test(setting));
}

export const OK = `echo '{"status":"ok","summary":"Did it."}'`;

interface HaloOptions {
  concurrency?: number;
  /** Whether an earlier process has probed the engine; default: yes. */
  isProbed?: boolean;
  /** Where the worker starts sandboxes; default: the engine that the environment names. */
  engine?: EngineAddress;
}

export async function openHalo({ concurrency = 2, isProbed = true, engine }: HaloOptions = {}): Promise<TestHalo> {
  const home = mkdtempSync(join(tmpdir(), 'halo-home-'));
  if (isProbed) addProbeResults(home);
  const host = hostOf(home);
  const worker = await startWorker({ host, concurrency, ...(engine && { engine }), log: pino({ level: 'silent' }) });
  const operations = openLocal({ host });
  const submit = async (repo: string, stories: TestStory[], settings: string[]) => {
    const [submitted] = (
      await operations.submit({
        prd: prdOf(stories),
        repos: [repo],
        profile: undefined,
        set: settings,
        allowDirty: false,
      })
    ).runs;
    return submitted!.runId;
  };
  const untilEnd = async (runId: string) => {
    for await (const {
      event: { type },
    } of await operations.followEvents({ runId, after: 0, follow: true }))
      if (type === 'run.ended') break;
    // The files that are made from the journal follow it within moments.
    const record = join(home, 'runs', runId, 'run.json');
    while ((JSON.parse(readFileSync(record, 'utf8')) as { endTime: unknown }).endTime === null) await sleep(5);
    return (await operations.getRun({ runId })).state;
  };
  return {
    home,
    host,
    operations,
    worker,
    submit,
    untilEnd,
    run: async (...request) => untilEnd(await submit(...request)),
    readFile: (runId, path) => readFileSync(join(home, 'runs', runId, path), 'utf8'),
    journal: (runId) => readJournal(home, runId),
    close: async () => {
      await worker.close();
      await operations.close();
      await removeSnapshots(home);
      rmSync(home, { recursive: true, force: true });
    },
  };
}
