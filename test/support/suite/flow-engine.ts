import { BrokenEngineError, startLightEngine } from '../light-engine/start.ts';
import { probeEngine } from './probed-engine.ts';

/**
 * Runs before the tests of halo's decisions, and starts the engine that they use. HALO_TEST_ENGINE=docker: they use Docker, as
 * they do where no light engine can run.
 */
export default async function startEngine(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.HALO_TEST_ENGINE === 'docker') return void (await probeEngine());
  const light = await startLightEngine().catch((error: unknown) => {
    if (error instanceof BrokenEngineError) {
      process.stderr.write(`${error.message}\n`);
      throw error;
    }
    process.stdout.write(`The tests use Docker, because the light engine does not run here: ${String(error)}\n`);
    return undefined;
  });
  if (light === undefined) return void (await probeEngine());
  process.env.HALO_TEST_LIGHT_ENGINE = light.host;
  process.env.HALO_TEST_LIGHT_TMP = light.tmp;
  await probeEngine(light.host);
  return () => light.stop();
}
