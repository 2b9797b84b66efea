import { createRequire } from 'node:module';
import type * as Re2js from 're2js';

/** RE2 in JavaScript, loaded with the first pattern: it takes long, and most processes have none. */
export function loadRe2(): typeof Re2js.RE2JS {
  return (createRequire(import.meta.url)('re2js') as typeof Re2js).RE2JS;
}
