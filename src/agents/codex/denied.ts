/**
 * What Codex logs when it does not let its model do something; its event stream keeps silent about it. That it wants a
 * safer way than `rm -f`, which models find at once, is none of it.
 */
const REFUSAL =
  /codex_core::tools::router: error=((?:exec_command failed: CreateProcess \{ message: "Rejected\((?!.*Use a safer approach)|approval policy is |patch rejected: ).*)/;

/** The first refusal on stderr. */
export function deniedByCodex(stderrTail: string): string | undefined {
  return REFUSAL.exec(stderrTail)?.[1];
}
