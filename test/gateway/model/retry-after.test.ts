import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../../src/gateway/model/provider-error.ts';

const NOW = Date.UTC(2030, 0, 1, 12);
const HOUR = 3_600_000;
const read = (headers: Record<string, string>, { status = 429, body }: { status?: number; body?: unknown } = {}) =>
  readRetryAfter(
    { statusCode: status, headers, body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body) },
    NOW,
  );

describe('the pause that a provider requests', () => {
  it.each([
    [{ 'retry-after': '18000' }, 5 * HOUR],
    [{ 'retry-after': 'Tue, 01 Jan 2030 17:00:00 GMT' }, 5 * HOUR],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{ 'anthropic-ratelimit-unified-reset': String((NOW + 5 * HOUR) / 1000) }, 5 * HOUR],
    [{ 'anthropic-ratelimit-requests-reset': '2030-01-01T13:00:00Z' }, HOUR],
    [{ 'anthropic-ratelimit-input-tokens-reset': '2030-01-01T13:00:00Z' }, HOUR],
    [{ 'anthropic-ratelimit-output-tokens-reset': '2030-01-01T12:00:30Z' }, 30_000],
    [{ 'x-ratelimit-reset-requests-day': '3600', 'x-ratelimit-remaining-requests-day': '0' }, HOUR],
    [{ 'ratelimit-reset': '60', 'ratelimit-remaining': '0' }, 60_000],
    [{ 'x-ratelimit-reset-requests': '1h2m3.5s', 'x-ratelimit-remaining-requests': '0' }, HOUR + 123_500],
    [{ 'x-ratelimit-reset-tokens': '20ms' }, 20],
    [{ 'x-ratelimit-reset': String(NOW + HOUR) }, HOUR],
    [{ 'x-ratelimit-reset': '60' }, 60_000],
  ])('is read from the headers %j', (headers, ms) => {
    expect(read(headers)).toBe(ms);
  });

  it('is that of the used-up limits, the longest of them', () => {
    const requests = { 'x-ratelimit-reset-requests': '2h', 'x-ratelimit-remaining-requests': '7' };
    const tokens = { 'x-ratelimit-reset-tokens': '30s', 'x-ratelimit-remaining-tokens': '0' };
    expect(read({ ...requests, ...tokens })).toBe(30_000);
    expect(read({ ...requests, ...tokens, 'x-ratelimit-remaining-requests': '0' })).toBe(2 * HOUR);
  });

  it('is not that of a limit of which something is left, nor of an account’s extra usage', () => {
    const input = { 'anthropic-ratelimit-input-tokens-reset': '2030-01-01T13:00:00Z' };
    const output = { 'anthropic-ratelimit-output-tokens-reset': '2030-01-01T12:00:30Z' };
    const left = { 'anthropic-ratelimit-input-tokens-remaining': '12000' };
    const overage = { 'anthropic-ratelimit-unified-overage-reset': '2030-02-01T00:00:00Z' };
    expect(read({ ...input, ...output, ...left, ...overage })).toBe(30_000);
  });

  it.each([
    [
      {
        error: {
          code: 429,
          metadata: { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': `${NOW + HOUR}` } },
        },
      },
      HOUR,
    ],
    [{ error: { type: 'usage_limit_reached', resets_in_seconds: 18_000 } }, 5 * HOUR],
    [{ error: { type: 'usage_limit_reached', resets_at: NOW / 1000 + 3600 } }, HOUR],
    [{ error: { details: [{ reason: 'x' }, { retryDelay: '3600s' }] } }, HOUR],
  ])('is read from the body %j if no header names it', (body, ms) => {
    expect(read({}, { body })).toBe(ms);
    expect(read({ 'retry-after': '5' }, { body })).toBe(5_000);
  });

  it.each([
    ['no time', {}, {}],
    ['a time in the past', { 'retry-after': 'Tue, 01 Jan 2030 11:00:00 GMT' }, {}],
    ['nonsense', { 'retry-after': 'soon', 'x-ratelimit-reset': '-5', 'x-ratelimit-reset-tokens': '1x' }, {}],
    ['a body that is not JSON', {}, { body: '<html>' }],
    ['a body of another shape', {}, { body: { error: [{ details: 5 }] } }],
    ['metadata of another shape', {}, { body: { error: { metadata: { headers: ['X-RateLimit-Reset'] } } } }],
    ['another status', { 'retry-after': '5' }, { status: 500 }],
    ['reset times without an exhausted limit', { 'x-ratelimit-reset': '60' }, { status: 503 }],
  ])('is none for %s', (_name, headers, more) => {
    expect(read(headers as Record<string, string>, more)).toBeUndefined();
  });

  it('is at most 30 days', () => {
    expect(read({ 'retry-after': '999999999999' })).toBe(30 * 24 * HOUR);
  });
});
