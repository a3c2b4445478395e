import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { createVitest, type Reporter, type TestModule } from 'vitest/node'
import { mutate, type Mutant } from './mutants.ts'

/** The sources with mutants, by the file's path from the root. */
export type Sources = ReadonlyMap<string, { code: string; mutants: readonly Mutant[] }>
/** The result of some test files. `failure` names the first test that failed. */
export interface Outcome {
  failure?: string
  timedOut: boolean
}
/** A lane that runs the tests of one process at a time. */
export interface Lane {
  /** The existing test files. */
  files: readonly string[]
  /** Runs test files in this order until the first failure, for at most `limitMs`. */
  run(files: readonly string[], env: Record<string, string>, limitMs: number): Promise<Outcome>
  close(): Promise<void>
}

/** The sources with all their mutants in them. */
export const readSources = (files: readonly string[]): Sources =>
  new Map(files.map(file => [file, mutate(file, readFileSync(file, 'utf8'))]))

interface LaneOptions {
  /** Whether each test file has a separate process, and all files run despite failures. */
  isolate: boolean
  workers?: number
  /** Other test files than those of the configuration. */
  include?: string[]
  onModule?: (module: TestModule) => void
}

/** Prepares a lane for tests of the mutated sources. */
export async function openLane(
  sources: Sources,
  { isolate, workers = 1, include, onModule }: LaneOptions,
): Promise<Lane> {
  const watched: { failed?: (what: string) => void } = {}
  const reporter: Reporter = {
    onTestCaseResult: test => {
      if (test.result().state === 'failed') watched.failed?.(`${relative('.', test.module.moduleId)}: ${test.fullName}`)
    },
    onTestModuleEnd: module => {
      onModule?.(module)
      if (module.state() === 'failed') watched.failed?.(relative('.', module.moduleId))
    },
  }
  const vitest = await createVitest(
    'test',
    {
      config: 'test/mutation/vitest.config.ts',
      watch: false,
      isolate,
      maxWorkers: workers,
      reporters: [reporter],
      silent: true,
      ...(include && { include, exclude: [] }),
      ...(!isolate && { bail: 1 }),
    },
    {
      plugins: [
        { name: 'mutants', enforce: 'pre', transform: (_code, id) => sources.get(relative(process.cwd(), id))?.code },
      ],
    },
  )
  const [project] = vitest.projects
  if (!project) throw new Error('test/mutation/vitest.config.ts has no tests.')
  const specifications = new Map(
    (await vitest.globTestSpecifications()).map(each => [relative('.', each.moduleId), each]),
  )
  return {
    files: [...specifications.keys()],
    run: async (files, env, limitMs) => {
      const outcome: Outcome = { timedOut: false }
      Object.assign(project.config.env, env)
      const stop = () => {
        void vitest.cancelCurrentRun('test-failure')
      }
      watched.failed = what => {
        outcome.failure ??= what
        if (!isolate) stop()
      }
      // A process that ignores the first request to end is killed by the second.
      const timers = [
        setTimeout(() => {
          outcome.timedOut = true
          stop()
        }, limitMs),
        setTimeout(stop, limitMs + 2_000),
      ]
      const wanted = files.map(file => specifications.get(file) ?? missing(file))
      const result = await vitest
        .runTestSpecifications(wanted)
        .catch((error: unknown) => ({ unhandledErrors: [error] }))
      for (const timer of timers) clearTimeout(timer)
      if (result.unhandledErrors.length > 0) outcome.failure ??= String(result.unhandledErrors[0])
      return outcome
    },
    close: () => vitest.close(),
  }
}

function missing(file: string): never {
  throw new Error(`${file} is not a test file.`)
}
