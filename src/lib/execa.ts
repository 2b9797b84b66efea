import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { execa as start } from 'execa';
import { ignore } from './async.ts';

/**
 * execa, for a process that must not end if it has too many files open: Node reports that there is no room for the pipes of
 * a program as an event, and execa fails before it listens to that. Throws EMFILE instead, so that only the caller fails.
 */
export const execa: typeof start = new Proxy(start, {
  apply(target, self, given) {
    let child: ChildProcess | undefined;
    const watch = (message: unknown) => {
      child = (message as { process: ChildProcess }).process;
      child.once('error', ignore);
    };
    subscribe('child_process', watch);
    try {
      return Reflect.apply(target, self, given) as unknown;
    } catch (error) {
      throw lacksPipes(child) ? tooManyFiles(String(given[0]), error) : error;
    } finally {
      unsubscribe('child_process', watch);
    }
  },
});

function lacksPipes(child: ChildProcess | undefined): boolean {
  return child !== undefined && (child.stdio as unknown) === undefined;
}

function tooManyFiles(program: string, cause: unknown): NodeJS.ErrnoException {
  const error = new Error(`EMFILE: too many open files, spawn ${program}`, { cause });
  return Object.assign(error, { code: 'EMFILE', errno: -24, syscall: 'spawn' });
}
