import type { EndpointView } from './endpoint-schema.ts';
import { processEnv, readSecret } from '../../../config/environment/host.ts';
import { readEndpoints, type EndpointSettings } from '../config/endpoint-settings.ts';
import { readCaFile } from '../../../config/host-rules.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { Notification } from '../core/notification.ts';
import { closeSentence } from '../../../core/text/did-you-mean.ts';
import { defined } from '../../../lib/guards.ts';
import { openMasker } from '../../../lib/secrets/masker.ts';
import { DeliveryError } from '../../../lib/network/post.ts';
import { NotificationOutbox, type Delivery } from '../store/notification-outbox.ts';
import { openSink } from '../worker/deliver.ts';
import { openSecretReader } from '../../../worker/network/secret-reader.ts';
import { openMachineConnections } from '../../../worker/network/machine-connections.ts';

const TEST_MS = 30_000;

/** The endpoints of `[notify]`, and removed ones, and what they have not received. Throws CONFIG_INVALID, DISK_FAILED. */
export async function listEndpoints(home: string): Promise<EndpointView[]> {
  const outbox = new NotificationOutbox(home);
  const configured = await readEndpoints(home);
  const removed = (await outbox.endpoints()).filter((name) => !configured.some((endpoint) => endpoint.name === name));
  const views = configured.map(async ({ name, type, url, events }): Promise<EndpointView> => {
    const disabled = await outbox.whyDisabled(name);
    const host = url.text === undefined ? {} : { host: new URL(url.text).host };
    const { why, ...counts } = await countPending(outbox, name);
    return { name, type, ...host, events: [...events], ...counts, ...defined({ why: disabled ?? why }) };
  });
  const others = removed.map(async (name): Promise<EndpointView> => {
    const why = `[notify.${name}] is not in config.toml: add it again to send these, or remove the folder notifications/${name} of HALO_HOME; halo drops them after 14 days`;
    return { name, type: 'removed', events: [], ...(await countPending(outbox, name)), why };
  });
  return Promise.all([...views, ...others]);
}

async function countPending(outbox: NotificationOutbox, name: string) {
  const pending = await outbox.pending(name);
  const givenUp = pending.filter((each) => each.givenUp === true).length;
  const last = pending.findLast((each) => each.why !== undefined);
  const next = last?.givenUp === true ? undefined : last?.notBefore;
  const why = next === undefined ? last?.why : `${last?.why}; the next try is at ${next}`;
  return { waiting: pending.length - givenUp, givenUp, ...defined({ why }) };
}

/** Sends a test message to an endpoint. Throws USAGE for an unknown name, NOTIFY_FAILED, CONFIG_INVALID. */
export async function testEndpoint(home: string, name: string, by: string): Promise<void> {
  const endpoint = await selectEndpoint(home, name);
  const env = processEnv();
  const connections = await openMachineConnections(env, await readCaFile(home));
  const masker = openMasker();
  try {
    const read = openSecretReader((variable) => readSecret(env, variable));
    const sink = await openSink(endpoint, { read, masker, connections });
    await sink.send([testMessage(by)], AbortSignal.timeout(TEST_MS));
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error;
    throw new HaloError('NOTIFY_FAILED', `The endpoint ${name} received nothing: ${masker.text(error.message)}.`, {
      hint: `Check [notify.${name}] in config.toml of HALO_HOME; docs/notifications.md describes its keys.`,
      cause: error,
    });
  } finally {
    connections.close();
  }
}

/** Sends what was given up again, and what waits for its next try now. Returns how many notifications. Throws USAGE. */
export async function retryEndpoint(home: string, name: string, now: Date): Promise<number> {
  const outbox = new NotificationOutbox(home);
  await selectEndpoint(home, name);
  await outbox.enable(name);
  const pending = await outbox.pending(name);
  for (const { notification } of pending)
    await outbox.update(name, { notification, failures: 0, addedAt: now.toISOString() });
  return pending.length;
}

/** The latest deliveries, the newest first. */
export async function listDeliveries(home: string, limit: number): Promise<Delivery[]> {
  return new NotificationOutbox(home).deliveries(limit);
}

async function selectEndpoint(home: string, name: string): Promise<EndpointSettings> {
  const endpoints = await readEndpoints(home);
  const found = endpoints.find((endpoint) => endpoint.name === name);
  if (found !== undefined) return found;
  const names = endpoints.map((endpoint) => endpoint.name);
  throw new HaloError('USAGE', `There is no endpoint ${JSON.stringify(name)}${closeSentence(name, names)}`, {
    hint: names.length === 0 ? 'Add [notify.<name>] to config.toml of HALO_HOME.' : `Use one of ${names.join(', ')}.`,
  });
}

function testMessage(by: string): Notification {
  const at = new Date().toISOString();
  return {
    id: `test-${Date.now()}`,
    type: 'run.started',
    at,
    run: 'test',
    repository: 'test',
    source: 'test',
    user: by,
    title: 'halo: this is a test message',
    text: `${by} has sent it with \`halo hooks test\`.`,
  };
}
