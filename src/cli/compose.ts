import type { Host } from '../config/config.ts';
import { findCredentials, stripCredentials } from '../core/text/address-credentials.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { composeMachineServices, type MachineServices } from './compose-machine.ts';
import { composePrdServices, type PrdServices } from './compose-prds.ts';
import { composeRunServices, type RunServices } from './compose-runs.ts';

/** What commands can use. Everything is loaded on first use, so that each command starts fast. */
export interface Services extends RunServices, PrdServices, MachineServices {
  readHost(): Promise<Host>;
}

/** The services of a real process. Only the compose files of the CLI construct adapters. */
export function composeServices(words: readonly string[]): Services {
  const readHost = async () => {
    const [{ processEnv, readFailpoints, readHost }, { armFailpoints }] = await Promise.all([
      import('../config/environment/host.ts'),
      import('../lib/failpoint.ts'),
    ]);
    armFailpoints(readFailpoints(processEnv()));
    return readHost(processEnv());
  };
  let opened: Promise<Masker> | undefined;
  const masker = () => (opened ??= openMasker(readHost(), words));
  const context = { args: words.map(stripCredentials), readHost, masker };
  return {
    readHost,
    ...composeRunServices(context),
    ...composePrdServices(context),
    ...composeMachineServices(context),
  };
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
