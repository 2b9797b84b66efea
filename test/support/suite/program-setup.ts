import { shareGitLauncher } from './git-launcher.ts';
import { hideEngine } from './no-engine.ts';

hideEngine();
shareGitLauncher();
