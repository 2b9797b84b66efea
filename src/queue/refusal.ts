import { ReplyError } from 'ioredis';

/** Whether Redis answered and said no, e.g. because its memory or its disk is full. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof ReplyError;
}

/** Whether it said no because its memory is full. */
export function isFull(error: unknown): boolean {
  return isRefusal(error) && /\bOOM\b/.test(error.message);
}
