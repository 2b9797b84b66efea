import { describe, expect, it } from 'vitest';
import { sizeOfAtLeast } from '../../src/config/schema/values.ts';

describe('a size of at least 64m', () => {
  it.each(['64m', '65536k', '1g'])('may be %s', (text) => {
    expect(sizeOfAtLeast('64m').safeParse(text).success).toBe(true);
  });

  it.each([['63m'], ['64k'], ['much'], [300]])('may not be %s, and the message says what it may be', (value) => {
    const message = 'must be a size of at least "64m"';
    expect(sizeOfAtLeast('64m').safeParse(value).error?.issues).toMatchObject([{ message }]);
  });
});
