/** A question with which an attempt at a story ended, and a person's answer. */
export interface AnsweredQuestion {
  attempt: number;
  /** The summary of the agent. */
  question: string;
  text: string;
  /** The person who answered. */
  by: string;
}

/** Whether a story ended with a question to a person. */
export function isQuestion({ progress, held }: { progress: string; held?: unknown }): boolean {
  return progress === 'needs_human' && held === undefined;
}
