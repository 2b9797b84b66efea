import { requireEngine } from '../../../config/engine-address.ts';
import { noteDrained } from '../../../store/drained-engines.ts';

/** Notes whether the workers of an engine that start from now on take stories. Throws CONFIG_INVALID, DISK_FAILED. */
export async function noteEngineDrained(home: string, name: string, drained: boolean): Promise<void> {
  await requireEngine(home, name);
  await noteDrained(home, name, drained);
}
