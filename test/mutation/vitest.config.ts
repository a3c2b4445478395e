import { defineConfig } from 'vitest/config'

/** What reaches the rules, the identities and the store in the process of the tests, and quickly. What measures, or waits for other programs, is not here: no mutant is in them. */
const include = [
  'test/{authorization,contract}.test.ts', 'test/{domain,store}/*.test.ts', 'test/routes/*.test.ts', 'test/agents/{assistant,failures,goneWorktrees,lifecycle,messages,permissions,pipeline,preSessions,queue,transcript}.test.ts',
  'test/attacks/filesystem.test.ts', 'test/backups/{damage,hostile,swap}.test.ts', 'test/daemons/{across,move}.test.ts', 'test/git/{merge,worktrees}.test.ts', 'test/monitors/{restart,runs}.test.ts', 'test/transfers/{json,roundTrip}.test.ts', 'test/webhooks/deliveries.test.ts',
]
const exclude = ['test/domain/{hashQueue,timetable}.test.ts', 'test/routes/{bad-input,concurrency,logFlood,openapi,restoreKept,socketLimits}.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/scratch.ts'], setupFiles: ['test/mutation/switches.ts'], pool: 'forks', include, exclude, testTimeout: 30_000, hookTimeout: 30_000, teardownTimeout: 5_000,
    env: { NO_COLOR: '1', BOARD_DATA_DIR: '', BOARD_URL: '', BOARD_TOKEN: '' },
    // The caller says which files come first.
    sequence: { sequencer: class { sort<T>(files: T): T { return files } shard<T>(files: T): T { return files } } as never },
  },
})
