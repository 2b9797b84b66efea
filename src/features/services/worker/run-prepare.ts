import { Writable } from 'node:stream';
import type { Config } from '../../../config/config.ts';
import { SILENT_JOURNAL } from '../../../worker/attempt/attempt-journal.ts';
import {
  attemptFailed,
  type AttemptEnded,
  describeExit,
  findExitFailure,
  withCause,
} from '../../../worker/attempt/attempt-outcome.ts';
import { onLayer, type SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { recordSetup } from '../../../worker/attempt/phases/run-setup.ts';
import { openLayer } from '../../../worker/snapshot/open-layer.ts';
import { runCommands, setupCommands } from '../../../worker/workspace/run-commands.ts';
import { runStep, type StepResult } from '../../../worker/workspace/run-step.ts';
import type { ServiceAccess } from '../../../worker/workspace/step-services.ts';
import { besideStep, planSetup } from '../../../worker/workspace/step-plan.ts';
import { Workspace } from '../../../worker/workspace/workspace.ts';
import type { Service } from '../core/service.ts';
import type { DataPlan } from './prepared-data.ts';

/** A service on the volume that is to get the data. */
interface FilledService {
  access(): Promise<ServiceAccess>;
  ready: Promise<void>;
  /** As of a `RunningService`. */
  failed: Promise<{ why: string } | Error>;
  /** Ends it as its image wants it. Resolves to why that was not clean, as a clause. */
  stop(): Promise<string | undefined>;
  tail(): string;
}

interface PrepareRequest extends Omit<DataPlan, 'volume'> {
  service: Service;
  server: FilledService;
  /** Unique in the attempt. */
  name: string;
  /** Receives the output of all commands. */
  log: Writable;
}

/**
 * Runs setup and then the `prepare` of a service in a clean workspace, beside the service, which it ends. Ends the attempt if one of
 * them fails.
 */
export async function runPrepare(given: SandboxContext, request: PrepareRequest): Promise<void> {
  const { service, server, tree, fromStory, name, log } = request;
  const fail = (why: string, tail: string) => {
    const says = `the service ${service.name} could not be prepared: ${why}`;
    return fromStory ? attemptFailed('GATE_FAILED', says, tail) : serviceFailed(says, tail);
  };
  const lost = new AbortController();
  let end: { why: string } | Error | undefined;
  let wasReady = false;
  void server.failed.then((ended) => lost.abort((end = ended)));
  const signal = AbortSignal.any([given.signal, lost.signal]);
  // Its files are written at the end of the command: it may have been started ahead of its attempt.
  const openLog = () => unendingSink(log);
  const store = { ...given.worker.store, openArtifact: openLog };
  const silent = { ...given, signal, journal: SILENT_JOURNAL, worker: { ...given.worker, store } };
  try {
    const layer = await openLayer(silent, { checkout: tree, phase: 'gates', folder: 'services', fromStory });
    const context = onLayer(silent, layer);
    const step = besideStep('prepare', context, await server.access());
    const steps = [...planSetup(context), ...service.prepare.map(() => step)];
    const workspace = new Workspace(context, name, steps);
    await workspace.checkOut(tree.commit, tree.gitDir, tree.sources);
    const setup = setupCommands(context.config);
    for await (const ended of runCommands(context, workspace, { commands: setup, phase: 'baseline', openLog }))
      await recordSetup(context, ended, { phase: fromStory ? 'gates' : 'setup', log: '' });
    await Promise.race([server.ready.then(() => (wasReady = true)), whenAborted(signal)]);
    for (const command of service.prepare) {
      signal.throwIfAborted();
      log.write(`$ ${command}\n`);
      const started = await workspace.takeNext();
      const result = await runStep(context, started, { command, log: openLog(), phase: 'baseline' });
      signal.throwIfAborted();
      const why = describeFailure(context.config, command, result);
      if (why !== undefined) throw fail(why, result.tail);
    }
    const unclean = await Promise.race([server.stop(), whenAborted(signal)]);
    signal.throwIfAborted();
    if (unclean !== undefined) throw fail(unclean, server.tail());
  } catch (error) {
    given.signal.throwIfAborted();
    if (end === undefined) throw error;
    if (end instanceof Error) throw end;
    // What a story runs in a service that works may crash it, fill it, or stop it.
    throw fromStory && wasReady
      ? attemptFailed('GATE_FAILED', end.why, server.tail())
      : serviceFailed(end.why, server.tail());
  }
}

/** The end of an attempt by a fault of its environment. `why`: a clause. */
export function serviceFailed(why: string, tail: string): AttemptEnded {
  return withCause('service-failed', attemptFailed('GATE_FAILED', why, tail));
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** A sink that writes to another one, and does not end it. */
export function unendingSink(log: Writable): Writable {
  return new Writable({ write: (bytes: Buffer, _encoding, done) => void log.write(bytes, done) });
}

/** Why a command did not prepare the data, as a clause. */
function describeFailure({ limits }: Pick<Config, 'limits'>, command: string, result: StepResult): string | undefined {
  const { exit, tail } = result;
  const ended = findExitFailure(exit, { what: `\`${command}\``, limits }, tail);
  if (ended !== undefined) return ended.outcome.summary;
  return exit.exitCode === 0 ? undefined : `\`${command}\` ${describeExit(exit, limits, tail)}`;
}
