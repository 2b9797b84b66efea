import { describe, expect, it } from 'vitest';
import { size } from '../../src/config/schema/values.ts';

describe('a size in a range', () => {
  it.each(['256b', '1k', '6k'])('may be %s', (text) => {
    expect(size('256b', '6k').safeParse(text).success).toBe(true);
  });

  it.each([['255b'], ['6.1k'], ['much'], [300]])('may not be %s, which the message says with the range', (value) => {
    const message = 'must be a size from "256b" to "6k"';
    expect(size('256b', '6k').safeParse(value).error?.issues).toMatchObject([{ message }]);
  });
});
