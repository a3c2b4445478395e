import { defineConfig } from 'vitest/config'

/** Soaks that run when their rounds are asked for: BOARD_TEST_ROUNDS=50 npx vitest run test/e2e/agentOrphans.test.ts */
const soaks = process.env.BOARD_TEST_ROUNDS === undefined ? ['test/e2e/agentOrphans.test.ts'] : []

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'], exclude: ['**/node_modules/**', ...soaks], globalSetup: 'test/build.ts', reporters: ['default', './test/closingLine.ts'],
    testTimeout: 20_000, hookTimeout: 30_000, pool: 'forks', env: { NO_COLOR: '1', BOARD_DATA_DIR: '', BOARD_URL: '', BOARD_TOKEN: '' },
  },
})
