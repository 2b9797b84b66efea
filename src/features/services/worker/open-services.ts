import type { Config } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { NetworkPhase } from '../../../core/journal/egress-events.ts';
import { TAIL_BYTES } from '../../../core/journal/event-parts.ts';
import { withTimeout } from '../../../lib/async.ts';
import { defined } from '../../../lib/guards.ts';
import { SILENT_JOURNAL } from '../../../worker/attempt/attempt-journal.ts';
import { AttemptEnded } from '../../../worker/attempt/attempt-outcome.ts';
import type {
  ServiceAccess,
  ServedCommand,
  ServiceOpener,
  ServiceUser,
  StepServices,
} from '../../../worker/workspace/step-services.ts';
import type { SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { namesOf, servicesFor, toServices, type Service } from '../core/service.ts';
import { serviceFailed } from './run-prepare.ts';
import { RunningService } from './running-service.ts';

/** How long the engine may take to report the end of a service after a command that noticed it, in ms. */
const NOTICE_MS = 500;

/** Starts the services that `[services]` declares. */
export const SERVICE_OPENER: ServiceOpener = {
  names: (config) => namesOf(servicesOf(config)),
  addresses: (config, user) => servicesFor(servicesOf(config), user).flatMap(addressesOf),
  images: (config) => [...new Set(servicesOf(config).map(({ image }) => image))],
  // The kernel cannot name the whole context here: the types would depend on each other.
  open(context: SandboxContext, command) {
    const wanted = servicesFor(servicesOf(context.config), command.user);
    return wanted.length === 0 ? undefined : new OpenServices(context, wanted, command);
  },
};

function servicesOf({ services, limits }: Config): Service[] {
  return toServices(services, limits);
}

function addressesOf({ name, image, ports }: Service): string[] {
  return ports.map((port) => `${name} (${image}) at ${name}:${port}`);
}

/** A failure of a service, which ends the attempt. */
interface ServiceFailure {
  service: string;
  /** An error is a fault of the engine. */
  end: AttemptEnded | Error;
}

/** The services of one command. */
class OpenServices implements StepServices {
  private readonly context: SandboxContext;
  private readonly user: ServiceUser;
  private readonly name: string;
  private readonly running: readonly RunningService[];
  private readonly stopper = new AbortController();
  private readonly failed: Promise<void>;
  private failure: ServiceFailure | undefined;
  private isOver = false;
  private hasCommand = false;
  /** What the command itself has ended, which only explains its failure. */
  private stopped: ServiceFailure | undefined;
  private phase: NetworkPhase = 'baseline';

  constructor(context: SandboxContext, services: readonly Service[], { user, name, checkedOut }: ServedCommand) {
    this.context = context;
    this.user = user;
    this.name = name;
    this.running = services.map((service) => new RunningService(context, service, { name, checkedOut }));
    this.failed = new Promise((resolve) => {
      for (const each of this.running)
        void each.failed.then((ended) => {
          if (this.isOver || this.failure !== undefined) return;
          const service = each.service.name;
          if (ended instanceof Error) this.failure = { service, end: ended };
          else {
            // Else a change that stops its database would never fail a gate.
            const isStopped = this.hasCommand && ended.wasAsked;
            const why = isStopped ? `the command has stopped the service ${service}, which exited 0` : ended.why;
            const end = serviceFailed(why, each.tail());
            if (isStopped) return void (this.stopped = { service, end });
            this.failure = { service, end };
          }
          resolve();
          if (user === 'gates') this.stopper.abort();
        });
    });
  }

  get lost(): AbortSignal {
    return this.stopper.signal;
  }

  async access(): Promise<ServiceAccess> {
    const all = await Promise.all(this.running.map((each) => each.access()));
    return { mounts: all.flatMap(({ mounts }) => mounts), forwards: all.flatMap(({ forwards }) => forwards) };
  }

  async ready(phase: NetworkPhase): Promise<void> {
    this.phase = phase;
    const { journal, signal } = this.context;
    const isReported = phase !== 'baseline';
    const begun = performance.now();
    const waits = this.running.filter((each) => !each.isReady).map(({ service }) => service.name);
    if (waits.length > 0 && isReported) await journal.report({ type: 'services.awaited', phase, services: waits });
    const over = new AbortController();
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
    });
    await Promise.race([Promise.all(this.running.map(({ ready }) => ready)), this.failed, aborted]);
    over.abort();
    if (signal.aborted) return;
    if (this.failure !== undefined) throw await this.fail(this.failure);
    this.hasCommand = true;
    if (!isReported) return;
    const services = this.running.map(({ service, readyMs, preparedMs }) => ({
      name: service.name,
      ms: readyMs,
      ...defined({ preparedMs }),
    }));
    await journal.report({ type: 'services.ready', phase, services, waitedMs: Math.round(performance.now() - begun) });
  }

  get prepared(): { service: string; ms: number }[] {
    return this.running.flatMap(({ service: { name }, preparedMs: ms }) =>
      ms === undefined ? [] : [{ service: name, ms }],
    );
  }

  async end({ failed }: { failed: boolean }): Promise<void> {
    if (failed) await withTimeout(NOTICE_MS, this.failed);
    const { failure, stopped } = this;
    if (failure !== undefined && (failed || this.user === 'gates')) throw await this.fail(failure);
    if (failed && stopped !== undefined) await this.report(stopped);
    this.isOver = true;
    await this.keepLogs();
    this.remove();
  }

  private async fail(failure: ServiceFailure): Promise<Error> {
    this.isOver = true;
    await this.keepLogs();
    this.remove();
    await this.report(failure);
    return failure.end;
  }

  private async report({ service, end }: ServiceFailure): Promise<void> {
    if (!(end instanceof AttemptEnded) || this.phase === 'baseline') return;
    const { summary: why, tail } = end.outcome;
    const said = tail === undefined || tail.trim() === '' ? undefined : tail.slice(-TAIL_BYTES);
    await this.context.journal.report({
      type: 'service.failed',
      phase: this.phase,
      service,
      why,
      log: this.logOf(service),
      ...defined({ tail: said }),
    });
  }

  private logOf(service: string): string {
    return `services/${this.name}-${service}.log`;
  }

  /** They are written at the end, because services start before their attempt may write. */
  private async keepLogs(): Promise<void> {
    const { journal, worker, identity } = this.context;
    if (journal === SILENT_JOURNAL) return;
    for (const { service, tail } of this.running)
      await worker.store.writeArtifact(identity.location, this.logOf(service.name), tail()).catch((err: unknown) => {
        if (err instanceof HaloError && err.code === 'DISK_FAILED') throw err;
        worker.log.warn({ attempt: identity.id, service: service.name, err }, 'the log of a service was not kept');
      });
  }

  private remove(): void {
    const { worker } = this.context;
    for (const each of this.running) worker.inBackground(each.remove());
  }
}
