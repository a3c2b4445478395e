import { defineConfig } from 'vitest/config'

/** What reaches the rules, the identities and the store in the process of the tests. */
const include = [
  'test/{agents,attacks,backups,cli,contract,daemons,domain,fuzz,git,logs,monitors,notifications,routes,scripts,store,transfers,webhooks}/*.test.ts',
]
const exclude = [
  // No mutant is in them, or only in a program of their own, which is built without.
  'test/agents/{acp,acpFailures,command,failures,interrupted,launch,providers}.test.ts',
  'test/attacks/log.test.ts',
  'test/cli/{asking,bell,completion,completionIds,frame*,help,tree,waitAcrossRestart}.test.ts',
  'test/scripts/{restart,soak}.test.ts',
  // They measure, or take long.
  'test/agents/transcript.load.test.ts',
  'test/cli/{agents,backups,cardsChanges,cardsRun,server,web,webhooks}.test.ts',
  'test/attacks/{signIn,socketFrames}.test.ts',
  'test/daemons/standstill.test.ts',
  'test/routes/{bad-input,logFlood,socketLimits}.test.ts',
  'test/transfers/large.load.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['test/support/run/scratch.ts'],
    setupFiles: ['test/mutation/switches.ts'],
    pool: 'forks',
    include,
    exclude,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 5_000,
    env: { NO_COLOR: '1', BOARD_DATA_DIR: '', BOARD_URL: '', BOARD_TOKEN: '' },
    // The caller says which files come first.
    sequence: {
      sequencer: class {
        sort<T>(files: T): T {
          return files
        }
        shard<T>(files: T): T {
          return files
        }
      } as never,
    },
  },
})
