import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { processEnv, readFailpoints, readHost, readSecret } from '../../src/config/environment/host.ts';

test('the home is ~/.halo and nothing else is set without variables', () => {
  const expected = { home: join(homedir(), '.halo'), redisUrl: undefined, apiUrl: undefined, apiToken: undefined };
  expect(readHost({})).toEqual(expected);
  expect(readHost({ HALO_HOME: '', HALO_REDIS_URL: '', HALO_URL: '', HALO_TOKEN: '' })).toEqual(expected);
});

test('variables are read, and a relative home becomes absolute', () => {
  const env = { HALO_HOME: 'here', HALO_REDIS_URL: 'redis://r:1', HALO_URL: 'http://h:2', HALO_TOKEN: 't' };
  expect(readHost(env)).toEqual({
    home: resolve('here'),
    redisUrl: 'redis://r:1',
    apiUrl: 'http://h:2',
    apiToken: 't',
  });
});

test('a URL of the wrong kind is refused without repeating it', () => {
  expect(() => readHost({ HALO_REDIS_URL: 'http://user:hunter2@r' })).toThrow(
    /^HALO_REDIS_URL is not a URL of the form redis:[^2]*$/,
  );
  expect(() => readHost({ HALO_URL: 'localhost:80' })).toThrow(
    'HALO_URL is not a URL of the form http://… or https://….',
  );
});

test('an empty secret counts as unset', () => {
  expect(readSecret({ KEY: '' }, 'KEY')).toBeUndefined();
  expect(readSecret({ KEY: 's' }, 'KEY')).toBe('s');
});

test('the environment is that of the process', () => {
  expect(processEnv().PATH).toBe(process.env.PATH);
});

test('the takeover time of a silent worker can be set within limits', () => {
  expect(readHost({ HALO_TAKEOVER: '5s' })).toMatchObject({ takeoverMs: 5000 });
  for (const value of ['1s', 'soon', '5']) {
    expect(() => readHost({ HALO_TAKEOVER: value })).toThrow(`HALO_TAKEOVER=${value} is not a duration of at least 2s`);
  }
});

test('no failpoint is armed unless the environment sets one', () => {
  expect(readFailpoints({ HALO_FAILPOINT: '' })).toEqual([]);
  expect(readFailpoints({ HALO_FAILPOINT: 'agent.after:hang' })).toMatchObject([{ at: 'agent.after', fault: 'hang' }]);
});
