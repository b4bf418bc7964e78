import { configDefaults, defineConfig } from 'vitest/config'

/** `npm test`: everything that needs no telephone system. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/e2e/**'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/left-open.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
