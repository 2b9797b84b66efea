import { isIP } from 'node:net';
import { REGISTRIES } from '../core/network.ts';
import { describeNonPublic } from '../lib/ip-range.ts';
import type { Setting } from './settings.ts';

/** Settings that open the network around a worker, or a way out for the agent: theirs who run it. */
export const OWN_NETWORK: readonly string[] = [
  'network.private',
  'network.registry_hosts',
  ...REGISTRIES.map((name) => `network.upstreams.${name}`),
  'network.agent_registries',
];

/** Whether a setting allows an address of the worker's own surroundings. */
export function allowsInside({ key, value }: Pick<Setting, 'key' | 'value'>): boolean {
  if (key !== 'network.allow' || !Array.isArray(value)) return false;
  return value.some((entry) => {
    const host = String(entry)
      .replace(/:\d+$/, '')
      .replace(/^\[|\]$/g, '');
    return isIP(host) !== 0 && describeNonPublic(host) !== undefined;
  });
}
