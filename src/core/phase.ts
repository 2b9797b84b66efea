/** The steps of an attempt, in order. */
export type Phase = 'prepare' | 'setup' | 'agent' | 'export' | 'import' | 'gates' | 'land';
