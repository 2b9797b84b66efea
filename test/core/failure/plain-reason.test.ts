import { expect, it } from 'vitest';
import type { FailureCause, FailureClass } from '../../../src/core/failure/failure.ts';
import { plainReason } from '../../../src/core/failure/plain-reason.ts';
import type { StopReason } from '../../../src/core/failure/stop-reason.ts';
import { readFileSync } from 'node:fs';

const docs = readFileSync(new URL('../../../docs/stop-reasons.md', import.meta.url), 'utf8');

it.each<[StopReason, FailureClass | undefined, FailureCause | undefined, string]>([
  ['GATE_FAILED', 'gate', undefined, 'GATE_FAILED'],
  ['GATE_FAILED', 'environment', undefined, 'SETUP_FAILED'],
  ['GATE_FAILED', 'environment', 'program-missing', 'PROGRAM_MISSING'],
  ['TIMEOUT', 'environment', 'network-missing', 'NETWORK_MISSING'],
  ['INVALID_OUTPUT', 'agent', 'no-changes', 'NO_CHANGES'],
  ['GATE_FAILED', 'environment', 'base-broken', 'BASE_BROKEN'],
  ['INVALID_OUTPUT', 'agent', undefined, 'INVALID_OUTPUT'],
  ['ENGINE_ERROR', 'provider', 'key-refused', 'KEY_REFUSED'],
  ['ENGINE_ERROR', 'agent', undefined, 'AGENT_FAILED'],
  ['ENGINE_ERROR', 'agent', 'agent-overflow', 'LIMIT_REACHED'],
  ['ENGINE_ERROR', 'gate', undefined, 'LIMIT_REACHED'],
])('%s of class %s by %s is printed as %s', (reason, whose, cause, word) => {
  const failure = whose === undefined ? undefined : { class: whose, cause };
  expect(plainReason(reason, failure)).toBe(word);
  expect(docs).toContain(`\`${word}\``);
});
