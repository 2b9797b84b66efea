import { vi } from 'vitest';
import { describeAbilities } from './abilities.ts';
import { describeCommands } from './commands.ts';
import { describeResources } from './resources.ts';
import { describeSandboxes } from './sandboxes.ts';
import { describeVolumes } from './volumes.ts';

/** What halo relies on in an engine, tested with that of the environment. */
export function describeEngineContract(): void {
  // They often wait. Each has users, volumes and labels of its own.
  vi.setConfig({ maxConcurrency: 6 });
  describeAbilities();
  describeSandboxes();
  describeCommands();
  describeVolumes();
  describeResources();
}
