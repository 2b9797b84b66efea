import { probeEngine } from './probed-engine.ts';

/** Runs before the tests that use the machine's engine. */
export default async function probeMachine(): Promise<void> {
  await probeEngine();
}
