// The list itself: pure functions from list to list. A todo is { text }.

export function add(todos, text) {
  if (text.trim() === '') throw new Error('a todo needs a text');
  return [...todos, { text: text.trim() }];
}

export function format(todos) {
  return todos.map((todo, index) => `${index + 1}. ${todo.text}`).join('\n');
}
