import { afterAll, vi } from 'vitest';
import { removeTemporary } from '../temp-dir.ts';

// Vitest executes this for each file, before its tests, so that the hooks of the file run first. All other modules are shared by
// the files of a process: they must not register hooks on import.
const before = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.resetConfig();
  removeTemporary();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
