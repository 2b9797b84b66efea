import { onTestFinished } from 'vitest';
import { makeRepository, type TestRepository } from './repository/repository.ts';

/** One for the test that is running; it goes when that is over. */
export function newRepository(files: Record<string, string> = {}): TestRepository {
  const repository = makeRepository(files);
  onTestFinished(() => repository.remove());
  return repository;
}
