import { expect, test } from 'vitest';
import { findSecretValues } from '../../src/config/environment/secret-variables.ts';

test.each([
  ['postgres://shop:qW8-xv2.kLm@db/shop', ['qW8-xv2.kLm']],
  ['redis://:kXbTqLmNpRsW@cache', ['kXbTqLmNpRsW']],
  ['amqp://u:p%40ss-word@h', ['p@ss-word']],
  ['postgres://shop:correcthorse@db/shop', ['correcthorse']],
  ['postgres://shop:20241231@db/shop', ['20241231']],
  ['https://k7Hd82mQpLx9:k7Hd82mQpLx9@host', ['k7Hd82mQpLx9']],
  ['https://u:tokenofada@host/?token=tokenofada', ['tokenofada']],
  // A word of names, logs and code.
  ['mysql://shopuser:shopuser@db/shop', []],
  ['mysql://root:warehouse@db/warehouse', []],
  ['postgres://postgres:postgres@localhost:5432/postgres', []],
  ['mysql://root:password@db/shop', []],
  ['mysql://root:Password@db/shop', []],
  ['mysql://root:12345678@db/shop', []],
])('the secret of the URL %s', (value, secrets) => {
  expect(findSecretValues({ DATABASE_URL: value })).toEqual(secrets);
});
