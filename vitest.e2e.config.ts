import { defineConfig } from 'vitest/config'

/** `npm run test:e2e`: a real Asterisk and real SIP calls, one file at a time on a small machine. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    fileParallelism: false,
    globalSetup: ['test/support/build.ts', 'test/e2e/asterisk/provide.ts'],
    setupFiles: ['test/support/left-open.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
