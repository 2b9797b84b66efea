/**
 * Asks for each key once and remembers the answer, also for those who ask meanwhile. A failure is not remembered: what
 * failed may be mended by the time that the next one asks.
 */
export function askOnce<K, T>(ask: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const answers = new Map<K, Promise<T>>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = ask(key);
    answers.set(key, answer);
    answer.catch(() => answers.delete(key));
    return answer;
  };
}
