/** A shell script for an agent that does something else in each story of a run. */
export function inStories(scripts: [title: string, script: string][]): string {
  // The prompt also names the stories that have landed.
  const cases = scripts.toReversed().map(([title, script]) => `*"${title}"*)\n${script}\n;;`);
  return `case "$(cat)" in\n${cases.join('\n')}\nesac`;
}
