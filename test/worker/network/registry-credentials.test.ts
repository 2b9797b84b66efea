import { expect, it } from 'vitest';
import { openRegistryCredentials } from '../../../src/worker/network/registry-routes.ts';

it('a token is sent as a bearer token, with a user as a password, or as it is', async () => {
  const learned: string[] = [];
  const read = openRegistryCredentials(
    () => Promise.resolve('t0ken'),
    (secrets) => learned.push(...secrets),
  );
  const sent = await read({
    'a.example': { tokenEnv: 'T' },
    'b.example': { tokenEnv: 'T', user: 'bot' },
    'c.example': { tokenEnv: 'T', scheme: 'token' },
  });
  const basic = Buffer.from('bot:t0ken').toString('base64');
  expect(sent.map(({ authorization }) => authorization)).toEqual(['Bearer t0ken', `Basic ${basic}`, 't0ken']);
  expect(learned).toContain(basic);
});
