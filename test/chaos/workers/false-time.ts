import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARIES = '/usr/lib';

/** The library that lets one process see another time than its machine's (Debian: faketime); undefined: not here. */
export const FAKETIME = readdirSync(LIBRARIES)
  .flatMap((name) => {
    try {
      const folder = join(LIBRARIES, name, 'faketime');
      return readdirSync(folder).map((file) => join(folder, file));
    } catch {
      return [];
    }
  })
  .find((path) => path.endsWith('/libfaketime.so.1'));

/** For a process whose clock is wrong by that much, e.g. `+300s`; what only measures how long something takes is right. */
export function clockOff(offset: string): Record<string, string> {
  return { ...FALSE_TIME, FAKETIME: offset };
}

/** The same with the offset in a file, which may change at any moment. */
export function clockFrom(file: string): Record<string, string> {
  return { ...FALSE_TIME, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' };
}

const FALSE_TIME = { LD_PRELOAD: FAKETIME ?? '', FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
