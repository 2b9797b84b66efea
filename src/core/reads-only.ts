/** Programs that show what is there already, each as the start of a command; their output says nothing about the work. */
const READERS =
  /^(cat|head|tail|sed -n|nl|less|ls|tree|pwd|find|fd|rg|grep|git (show|log|diff|status|grep|ls-files))\b/;

/** Whether a shell command only looks at files, so that people need not see what it printed. A guess, for display. */
export function readsOnly(command: string): boolean {
  return command.split(/&&|\|\|?|;|\n/).every((part) => READERS.test(part.trim()));
}
