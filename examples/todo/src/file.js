// Where the list is kept: a JSON file in the current folder, or the one that TODO_FILE names.
import { readFile, writeFile } from 'node:fs/promises';

export const path = (env) => env.TODO_FILE ?? 'todo.json';

export async function load(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

export async function save(file, todos) {
  await writeFile(file, `${JSON.stringify(todos, null, 2)}\n`);
}
