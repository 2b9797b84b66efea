import { afterAll } from 'vitest';
import { makeRepository, type TestRepository } from './repository.ts';

const repositories: TestRepository[] = [];

// Registered on import, so that the file's own hooks run before it.
afterAll(() => repositories.splice(0).forEach((repository) => repository.remove()));

/** A new repository with these files, removed after the tests of the file. `name` is that of its folder. */
export function newRepository(files: Record<string, string> = {}, name?: string): TestRepository {
  const repository = makeRepository(files, name);
  repositories.push(repository);
  return repository;
}
