import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', '.halo-build/', '.halo-bench/', 'coverage/', 'examples/', 'test/**/fixtures/**'] },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      'no-console': 'error',
    },
  },
  {
    // Git is run by git() alone, with its sealed environment.
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: ['child_process', 'simple-git', 'isomorphic-git', 'nodegit', 'dugite', 'cross-spawn', 'zx', 'shelljs'],
        },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'CallExpression[callee.name=/^(execa|spawn|exec|fork)/][arguments.0.value=/(^|\\u002f)git( |$)/]',
          message: 'Run git through git() in src/git/process/git.ts.',
        },
      ],
    },
  },
);
