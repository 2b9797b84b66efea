interface LaunchScript {
  /** Name of the agent in the error message. */
  title: string;
  /** Absolute path of its program inside the sandbox. */
  program: string;
  /** Shell command line that starts it. */
  command: string;
  /** What the program must be: executable (default) or a file that `command` passes to an interpreter. */
  test?: '-x' | '-f';
}

/** POSIX shell script that starts an agent, or exits with 127 if its program is not in the sandbox. */
export function launchScript({ title, program, command, test = '-x' }: LaunchScript): string {
  return `if [ ! ${test} ${program} ]; then
  echo '${title} is not in this sandbox (looked for ${program}); build the image again: halo image build' >&2
  exit 127
fi
exec ${command}
`;
}
