import { expect, it } from 'vitest';
import { isOlderVersion } from '../../src/lib/version.ts';

it.each([
  ['1.1.5+ds1-1', '1.2.8', true],
  ['1.2.8', '1.2.8', false],
  ['1.2.10', '1.2.8', false],
  ['1.3.0-rc.1', '1.3.3', true],
  ['20.10.24+dfsg1', '25.0', true],
  ['25.0.0', '25.0', false],
  ['v28.2', '25.0', false],
  ['unknown', '1.0', true],
])('%s is older than %s: %s', (version, than, older) => expect(isOlderVersion(version, than)).toBe(older));
