import { describe, it, vi } from 'vitest';
import { FAILPOINTS, type Failpoint } from '../../src/core/failpoint.ts';
import { surviveKill } from './survive-kill.ts';

vi.setConfig({ maxConcurrency: 4 });

describe.concurrent('a worker killed at any border: another one finishes, one commit for each story', () => {
  it.for(Object.keys(FAILPOINTS) as Failpoint[])('%s', { timeout: 300_000 }, (at, context) => surviveKill(at, context));
});
