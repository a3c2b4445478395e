import { defineConfig } from 'vitest/config'
import { skippedFiles } from './test/support/run/skippedOnLibsql.ts'

/** What goes through many cases of what a quick test shows already, kills servers, or needs every shell. */
const thorough = [
  'test/agents/{goneWorktrees,interrupted,missingParts,restored}.test.ts',
  'test/attacks/*.test.ts',
  'test/backups/{damage,hostile}.test.ts',
  'test/cli/{completion,completionIds,frame-serve,https,refusals,restart,server,tree,waitAcrossRestart}.test.ts',
  'test/git/merge.test.ts',
  'test/process/leftovers.test.ts',
  'test/routes/{deletionRaces,worktrees}.test.ts',
  'test/store/order.test.ts',
  'test/transfers/roundTrip.test.ts',
]
/** What waits for real time or for many programs: half of the time of all files. `npm test` shows the same areas by quicker ones. */
const slow = [
  'test/agents/{approvalPolicy,attachments,branches,budgets,budgetWaits,cardBase,columnPulls,dependencies}.test.ts',
  'test/agents/{dependencyChains,landedWork,lifecycle,limitModel,messages,pipeline,pullRequests,queue}.test.ts',
  'test/agents/{pullRequestConflicts,pullRequestFaults,pullRequestLoop,pullRequestRepositories,repositories}.test.ts',
  'test/agents/{reviews,sandbox,silence,slowPush,usageLimits,waits,walledRepositories,worktreeCommands}.test.ts',
  'test/agents/worktreeRoot.test.ts',
  'test/backups/{growth,schedule}.test.ts',
  'test/cli/{agents,backups,bell,cardsChanges,cardsPlan,cardsPr,cardsPreview,cardsReview,cardsRun}.test.ts',
  'test/cli/{help,logs,oidc}.test.ts',
  'test/contract/{authorization,missingParts}.test.ts',
  'test/domain/{clockJumps,consumer,outbox}.test.ts',
  'test/forge/{adapters,fakeForges,fakeGitHub}.test.ts',
  'test/fuzz/board.test.ts',
  'test/git/{addedWorktrees,diff,fetchedBase,remotes,sandboxHostile,sandboxView,worktrees}.test.ts',
  'test/inspector/inspector.test.ts',
  'test/issues/{comments,failures,issues,killed}.test.ts',
  'test/monitors/{atOnce,news,restart,runs,stopping}.test.ts',
  'test/mutation/mutants.test.ts',
  'test/previews/*.test.ts',
  'test/process/stop.test.ts',
  'test/routes/{attachments,audit,backups,bad-input,concurrency,credentials,dependencyModel,deviceGrants}.test.ts',
  'test/routes/{eventAudience,files,filesystem,forgeDeliveries,isolation,oidcAccounts,otherAccounts,promises}.test.ts',
  'test/routes/{logs,restore,restoreKept,serverPromises,throttle,transfers}.test.ts',
  'test/sandbox/network.test.ts',
  'test/schedules/{recurrence,year}.test.ts',
  'test/scripts/{endings,output}.test.ts',
  'test/store/{besideServer,copies,copying,givingBack,readAhead,transactions}.test.ts',
  'test/transfers/manyCards.test.ts',
  'test/ui/{asking,card,finding,mouse,picking,terminal,theme}.test.ts',
  'test/webhooks/{deliveries,restart}.test.ts',
]
/** The additional files of `npm run test:load`: measurements, soaks, crash rounds, several servers, and the thorough ones. */
const load = ['test/**/*.load.test.ts', 'test/{daemons,e2e}/*.test.ts', ...thorough]
/** What measures time or memory: one after the other, so that it measures the board and not its neighbours. */
const measuring = [
  'test/**/*.load.test.ts',
  'test/daemons/*.test.ts',
  'test/e2e/{agentLoad,backupsAtScale,crash,databaseLocked,load*,memory,monitorLoad,nobodyReads,severalDaemons}.test.ts',
]
/** Files that run here with all of their cases, and in `npm test` with some of them. */
const sampled = ['test/contract/answers.test.ts']
/** Tests of agents that npm run test:walls runs once more, with their agents in the sandbox: each part of an agent's life. */
const walled = [
  'test/agents/{assistant,attachments,boardTools,goneWorktrees,interrupted,lifecycle,messages,missingParts}.test.ts',
  'test/agents/{permissions,pipeline,preSessions,relay,restored,usageLimits,worktreeCommands}.test.ts',
  'test/cli/agentTalks.test.ts',
  'test/e2e/watchdog.test.ts',
]
/** What has not ended by then hangs. No verdict depends on it, for a busy machine may take ten times as long as a quiet one. */
const hangMs = 300_000
const env = { NO_COLOR: '1' }

const every = {
  testTimeout: hangMs,
  hookTimeout: hangMs,
  expect: { poll: { timeout: hangMs / 2 } },
  pool: 'forks' as const,
  // A process that starts another is copied with its page tables: at 500 MB that takes 10 ms, and V8 lets the heap grow fourfold.
  execArgv: ['--heap-growing-percent=50'],
  setupFiles: ['keptOutput', 'drawnCases', 'restoredGlobals'].map(name => `test/support/run/${name}.ts`),
  env,
}
/** Whether the boards of this run have their agents in the sandbox, and can: where they cannot, a line says why. */
const isWalled =
  process.env.BOARD_TEST_SANDBOX === 'on' && (await import('./test/support/sandbox/bubblewrap.ts')).hasBubblewrap
/** Whether each board keeps its database on a libSQL server of its own (npm run test:sqld), for which a processor must be left. */
const onLibsqlServers = process.env.BOARD_TEST_DATABASE === 'sqld'
const beside = onLibsqlServers
  ? { setup: ['test/support/run/skippedOnLibsql.ts'], exclude: skippedFiles, workers: 3 }
  : { setup: [], exclude: [], workers: 4 }
/** Most tests wait for others most of the time. */
const atOnce = { maxWorkers: beside.workers, sequence: { groupOrder: 0 } }

export default defineConfig({
  test: {
    globalSetup: [
      'test/support/run/processEnvironment.ts',
      'test/support/run/scratch.ts',
      'test/support/run/build.ts',
      ...beside.setup,
    ],
    reporters: ['./test/support/run/failuresOnly.ts'],
    silent: 'passed-only',
    projects: [
      // npm test. These files share the processes, in which the board's code is loaded and warm.
      {
        test: {
          ...every,
          ...atOnce,
          name: 'board',
          include: ['test/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            'test/agents-real/**',
            'test/browser/**',
            ...load,
            // On libSQL servers they run with the others.
            ...(onLibsqlServers ? [] : slow),
            ...beside.exclude,
          ],
          isolate: false,
        },
      },
      // npm run test:load.
      {
        test: {
          ...every,
          ...atOnce,
          name: 'full',
          include: [...sampled, ...thorough, ...slow],
          exclude: ['**/node_modules/**'],
          isolate: false,
          env: { ...env, BOARD_TEST_FULL: '1' },
        },
      },
      {
        test: {
          ...every,
          ...atOnce,
          name: 'load',
          include: load,
          exclude: [...measuring, ...thorough],
        },
      },
      // npm run test:walls.
      { test: { ...every, ...atOnce, name: 'walls', include: isWalled ? walled : [], isolate: false } },
      // npm run test:browser. A browser and a server want a processor each.
      {
        test: {
          ...every,
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          maxWorkers: 2,
          // A wait that is in vain ends before its test does, and says what for.
          testTimeout: 3 * hangMs,
          expect: { poll: { timeout: hangMs } },
        },
      },
      // npm run test:agents. Each of these programs wants a processor for itself when it starts.
      {
        test: {
          ...every,
          name: 'agents',
          include: ['test/agents-real/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...every,
          name: 'measuring',
          include: measuring,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
