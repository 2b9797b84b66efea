import { shareGitLauncher } from './git-launcher.ts';

// Tests of this layer use the engine of the machine, as halo finds it.
shareGitLauncher();
