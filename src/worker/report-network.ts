import type { NetworkPhase } from '../core/network.ts';
import type { Attempt } from './attempt-context.ts';
import type { Channel } from './network/channel.ts';

/** Writes into the journal what a sandbox asked its gateway for, once the gateway is closed. */
export async function reportNetwork(attempt: Attempt, phase: NetworkPhase, { gateway }: Channel): Promise<void> {
  const rows = gateway.traffic();
  if (rows.length > 0) await attempt.report(...rows.map((row) => ({ type: 'network.asked' as const, phase, ...row })));
}
