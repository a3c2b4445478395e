import { defineConfig } from 'vitest/config'
import { leftOutFiles } from './test/support/run/leftOut.ts'

/** What measures its own process: that has it for itself. */
const alone = [
  'test/domain/timetableWeeks.test.ts',
  'test/agents/{acp,transcriptFlood}.test.ts',
  'test/attacks/socketFrames.test.ts',
  'test/routes/{logFlood,socketLimits}.test.ts',
]
/** What measures time: after all others, one after the other, so that it measures the board and not its neighbours. */
const measuring = [
  'test/attacks/signIn.test.ts',
  'test/domain/hashQueue.test.ts',
  'test/e2e/{agentLoad,backupsAtScale,crash,databaseLocked,load*,monitorLoad,nobodyReads,severalDaemons}.test.ts',
  'test/logs/history.test.ts',
  'test/daemons/*.test.ts',
  'test/transfers/large.test.ts',
  'test/ui/load.test.ts',
]
/** What has not ended by then hangs. No verdict depends on it, for a busy machine may take ten times as long as a quiet one. */
const hangMs = 300_000
const every = {
  testTimeout: hangMs,
  hookTimeout: hangMs,
  pool: 'forks',
  env: { NO_COLOR: '1', BOARD_DATA_DIR: '', BOARD_URL: '', BOARD_TOKEN: '' },
} as const
/** Whether each board keeps its database on a libSQL server of its own (npm run test:sqld), for which a processor must be left. */
const onLibsqlServers = process.env.BOARD_TEST_DATABASE === 'sqld'
const beside = onLibsqlServers
  ? { setup: ['test/support/run/leftOut.ts'], exclude: leftOutFiles, workers: 3 }
  : { setup: [], exclude: [], workers: 4 }
/** Most tests wait for others most of the time. */
const atOnce = { maxWorkers: beside.workers, sequence: { groupOrder: 0 } }

export default defineConfig({
  test: {
    globalSetup: ['test/support/run/scratch.ts', 'test/support/run/build.ts', ...beside.setup],
    reporters: ['default', './test/support/run/closingLine.ts'],
    projects: [
      // These files share the processes, in which the board's code is loaded and warm.
      {
        test: {
          ...every,
          ...atOnce,
          name: 'board',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...alone, ...measuring, ...beside.exclude],
          isolate: false,
        },
      },
      { test: { ...every, ...atOnce, name: 'alone', include: alone } },
      { test: { ...every, name: 'measuring', include: measuring, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
})
