import js from '@eslint/js';
import globals from 'globals';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {ignores: ['**/dist/**', '**/node_modules/**', '**/*.d.ts']},
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {projectService: true, tsconfigRootDir: import.meta.dirname},
    },
    rules: {
      // A value that nobody waits for hides its errors.
      // (node:test's own calls are waited for by its runner.)
      '@typescript-eslint/no-floating-promises': [
        'error',
        {allowForKnownSafeCalls: [{from: 'package', name: ['test', 'it'], package: 'node:test'}]},
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', {argsIgnorePattern: '^_'}],
      eqeqeq: 'error',
      'max-lines': ['error', 800],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: {globals: {...globals.browser, ...globals.node}},
    rules: {eqeqeq: 'error', 'max-lines': ['error', 800]},
  },
);
