import { defineConfig } from 'vitest/config'

/** Tests that reach the rules, the identities and the store in their own process. */
const include = [
  'test/{agents,attacks,backups,cli,contract,daemons,domain,fuzz,git,logs,monitors,notifications,routes,scripts,store,transfers,webhooks}/*.test.ts',
]
const exclude = [
  // Tests that contain no mutant, or only in a separate program, which is built without mutants.
  'test/agents/{acp,acpFailures,command,failures,interrupted,launch,providers}{,.slow,.load}.test.ts',
  'test/attacks/log{,.slow,.load}.test.ts',
  'test/cli/{asking,bell,completion,completionIds,frame*,help,tree,waitAcrossRestart}{,.slow,.load}.test.ts',
  'test/scripts/{restart,soak}{,.slow,.load}.test.ts',
  // These tests measure, or take long.
  'test/agents/transcript{,.slow,.load}.test.ts',
  'test/cli/{agents,backups,cardsChanges,cardsRun,server,web,webhooks}{,.slow,.load}.test.ts',
  'test/attacks/{signIn,socketFrames}{,.slow,.load}.test.ts',
  'test/daemons/standstill{,.slow,.load}.test.ts',
  'test/routes/{bad-input,logFlood,socketLimits}{,.slow,.load}.test.ts',
  'test/transfers/large{,.slow,.load}.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['test/support/run/processEnvironment.ts', 'test/support/run/scratch.ts'],
    setupFiles: ['test/mutation/switches.ts'],
    pool: 'forks',
    include,
    exclude,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 5_000,
    env: { NO_COLOR: '1' },
    // The caller sets the order of the files.
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
