import { defineConfig } from 'vitest/config'
import { skippedFiles } from './test/support/run/skippedOnLibsql.ts'

/** The limit for a hanging test. No verdict depends on it: a busy machine can take ten times as long as a quiet one. */
const hangMs = 300_000
/** BOARD_TEST_DATABASE=sqld keeps each board's database on a libSQL server, which requires a processor. */
const isOnLibsql = process.env.BOARD_TEST_DATABASE === 'sqld'

const slow = 'test/**/*.slow.test.ts'
const load = 'test/**/*.load.test.ts'
/** Tests that require a browser or real agents. */
const external = ['test/browser/**', 'test/agents-real/**']
const always = ['**/node_modules/**', ...(isOnLibsql ? skippedFiles : [])]

const shared = {
  testTimeout: hangMs,
  hookTimeout: hangMs,
  expect: { poll: { timeout: hangMs / 2 } },
  pool: 'forks' as const,
  // A process that starts another is copied with its page tables: 10 ms at 500 MB. By default, V8 lets the heap grow fourfold.
  execArgv: ['--heap-growing-percent=50'],
  setupFiles: ['keptOutput', 'drawnCases', 'restoredGlobals'].map(name => `test/support/run/${name}.ts`),
  env: { NO_COLOR: '1' },
}
/** Most tests wait most of the time. Their files share processes, in which the board's code is loaded and warm. */
const parallel = { ...shared, isolate: false, maxWorkers: isOnLibsql ? 3 : 4 }

export default defineConfig({
  test: {
    globalSetup: [
      ...['processEnvironment', 'scratch', 'build'].map(name => `test/support/run/${name}.ts`),
      ...(isOnLibsql ? ['test/support/run/skippedOnLibsql.ts'] : []),
    ],
    reporters: ['./test/support/run/failuresOnly.ts'],
    silent: 'passed-only',
    // The tier follows from the name of a file: X.test.ts, X.slow.test.ts, X.load.test.ts.
    projects: [
      {
        test: {
          ...parallel,
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [...always, slow, load, ...external],
        },
      },
      { test: { ...parallel, name: 'slow', include: [slow], exclude: [...always, ...external] } },
      // Files that measure or kill servers run alone.
      {
        test: { ...shared, name: 'load', include: [load], exclude: always, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      // A browser and its server require a processor each. A failed wait ends before its test, and states what it waited for.
      {
        test: {
          ...shared,
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 3 * hangMs,
          expect: { poll: { timeout: hangMs } },
        },
      },
      // A real agent requires a processor when it starts.
      { test: { ...shared, name: 'agents', include: ['test/agents-real/*.test.ts'], maxWorkers: 2 } },
    ],
  },
})
