/** Text for a person's log: at most about `max` characters, most of them from its end, where results stand. */
export function capText(text: string, max = 4000): string {
  if (text.length <= max) return text;
  const head = Math.floor(max / 4);
  const tail = max - head;
  return `${text.slice(0, head)}\n… ${text.length - max} characters left out …\n${text.slice(-tail)}`;
}
