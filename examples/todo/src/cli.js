#!/usr/bin/env node
import { load, path, save } from './file.js';
import { add, format } from './list.js';

const USAGE = `Usage:
  todo add <text>   add a todo
  todo list         show all todos`;

async function main([command, ...args]) {
  const file = path(process.env);
  const todos = await load(file);
  switch (command) {
    case 'add':
      return save(file, add(todos, args.join(' ')));
    case 'list':
      return print(format(todos));
    default:
      throw new Error(USAGE);
  }
}

function print(text) {
  if (text !== '') console.log(text);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
