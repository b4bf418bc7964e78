import { configDefaults, defineConfig } from 'vitest/config'

/** `npm test`: everything that needs no telephone system. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/e2e/**'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/left-open.ts'],
    // One process for each core of the machine the checks run on; the usual is one less.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
