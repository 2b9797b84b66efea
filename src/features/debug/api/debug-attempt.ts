import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { whoAmI } from '../../../api/submit/user-name.ts';
import { applyDefaults } from '../../../config/apply-defaults.ts';
import type { Config, Host } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { JournalEntry } from '../../../core/journal/events.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { transcribe } from '../../../core/transcript/transcript.ts';
import { readBundle } from '../../../git/commit/bundle.ts';
import { defined } from '../../../lib/guards.ts';
import { processMark } from '../../../lib/process-identity.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { CHANGE } from '../../../worker/attempt/kept-change.ts';
import { createIdleContext } from '../../../worker/create-worker-context.ts';
import { resolveImage } from '../../../worker/proof/resolve-image.ts';
import { hostGitDirOf } from '../../../worker/repository/host-repository.ts';
import { hasSettings } from '../../../worker/run/read-run.ts';
import { chooseState, type DebugQuery, type DebugState } from '../core/choose-state.ts';
import { runDebug, type DebugChange, type DebugEnd, type DebugEvent, type DebugProgram } from '../worker/run-debug.ts';

export type { DebugEnd, DebugEvent, DebugProgram };

interface DebugOptions extends DebugQuery {
  /** Any unique part of its id. */
  run: string;
  program: DebugProgram;
  signal: AbortSignal;
  tell: (event: DebugEvent | DebugBegun) => Promise<void>;
}

/** What is about to be copied. */
export interface DebugBegun extends DebugState {
  type: 'begun';
  runId: string;
  /** The commit that is checked out, unless `at` is `agent`: then it is what the agent left. Undefined: it changed nothing, or nothing was kept. */
  commit: string | undefined;
  /** The gates of the run. */
  configured: readonly string[];
}

/** What a journal keeps of a command. */
const COMMAND_LENGTH = 300;

/**
 * Runs a command or a shell in a sealed copy of a state of an attempt, records it in the journal, and removes the copy. Throws
 * RUN_NOT_FOUND, STORY_NOT_FOUND, USAGE, IMAGE_MISSING, RUN_ABORTED.
 */
export async function debugAttempt(host: Host, options: DebugOptions): Promise<DebugEnd> {
  const cleaning = new Set<Promise<void>>();
  const worker = createIdleContext({ host, log: pino({ level: 'silent' }), cleaning });
  const store = openStore(host.home, { transcribe, masker: worker.masker });
  const runId = await store.find(options.run);
  const [state, events, record] = await Promise.all([
    store.readState(runId),
    store.readJournal(runId),
    store.readRecord(runId),
  ]);
  const chosen = chooseState(state, events, options);
  const { story, attempt, at, base } = chosen;
  const config = await findConfig(worker, record.config, { runId, ...chosen });
  // A sweep removes it if this process is killed.
  const scratch = await mkdtemp(join(host.home, `debug.new-${processMark()}-`));
  try {
    const change = await findChange(store, { runId, state: chosen, scratch });
    const commit = change && ('landed' in change ? change.landed : change.bundled.commit);
    await options.tell({ type: 'begun', runId, ...chosen, commit, configured: config.gates ?? [] });
    const { program, signal, tell } = options;
    const gitDir = await hostGitDirOf(host.home, state.repo);
    const command = 'command' in program ? program.command : undefined;
    const of = { story, attempt, by: whoAmI() };
    const note = (entry: JournalEntry) => store.append(runId, [entry]);
    await note({
      type: 'debug.opened',
      ...of,
      point: at,
      ...defined({ command: command && safeLine(command, COMMAND_LENGTH) }),
    });
    const begun = performance.now();
    let end: DebugEnd | undefined;
    try {
      end = await runDebug(worker, { at, story, base, change, gitDir, config, program, signal, tell });
      return end;
    } finally {
      const exitCode = command === undefined ? undefined : end?.exitCode;
      await note({ type: 'debug.closed', ...of, ms: Math.round(performance.now() - begun), ...defined({ exitCode }) });
    }
  } finally {
    await Promise.allSettled(cleaning);
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The settings of the run with the image of the attempt, by its id, because the name may refer to a different one now. */
async function findConfig(
  worker: Parameters<typeof resolveImage>[0],
  recorded: unknown,
  { runId, story, image }: DebugState & { runId: string },
): Promise<Config> {
  if (!hasSettings(recorded))
    throw new HaloError(
      'RUN_UNREADABLE',
      `Run ${runId} has no settings in run.json, without which nothing can be run.`,
    );
  const config = applyDefaults(recorded);
  const subject = `the attempt at ${JSON.stringify(story)}`;
  const id = await resolveImage(worker, image ?? config.image, { subject, called: config.image });
  // No agent runs, and nothing of a model is needed.
  const { model } = config;
  return { ...config, image: id, agent: 'command', agentCommand: 'true', model: { ...model, api: undefined } };
}

/** What the attempt changed: its commit among the artifacts or, if retention has removed them, the one that landed. */
async function findChange(
  store: Store,
  { runId, state, scratch }: { runId: string; state: DebugState; scratch: string },
): Promise<DebugChange | undefined> {
  const { storyKey, attempt, landed } = state;
  const names = (await store.listArtifacts(runId)).map(({ path }) => path);
  if (!names.includes(`${storyKey}/${attempt}/${CHANGE}`)) return landed === undefined ? undefined : { landed };
  const file = join(scratch, CHANGE);
  await store.copyArtifact({ runId, storyKey, attempt }, CHANGE, file);
  return { bundled: await readBundle(file), file };
}
