import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'], exclude: ['**/node_modules/**'], globalSetup: 'test/build.ts', reporters: ['default', './test/closingLine.ts'],
    testTimeout: 20_000, hookTimeout: 30_000, pool: 'forks', env: { NO_COLOR: '1', BOARD_DATA_DIR: '', BOARD_URL: '', BOARD_TOKEN: '' },
  },
})
