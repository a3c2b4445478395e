import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { ReportersMap, type TestModule, type Vitest } from 'vitest/node'

/** The results of one run, which `test/run.mjs` reads from the file that `BOARD_TEST_REPORT` names. */
interface Report {
  passed: number
  failed: number
  skipped: number
  /** The number of errors that belong to no file. They cannot be repeated. */
  errors: number
  files: Array<{ project: string; file: string; failures: Array<{ test: string; error: string }> }>
}

type RunEnd = Parameters<InstanceType<typeof ReportersMap.minimal>['onTestRunEnd']>

/** Shows failures only, and ends a run with one line of totals that programs can read. */
export default class FailuresOnly extends ReportersMap.minimal {
  #reportPath: string | undefined
  /** The folder of the file in which test files write why they skip tests. */
  #skips = mkdtempSync(join(tmpdir(), 'board-skips-'))

  override onInit(vitest: Vitest): void {
    this.ctx = vitest
    this.#reportPath = process.env.BOARD_TEST_REPORT
    // A test that runs vitest itself must not write this run's report.
    delete process.env.BOARD_TEST_REPORT
    process.env.BOARD_TEST_SKIPS = join(this.#skips, 'reasons')
  }

  override onTestRunEnd(...[modules, errors, reason]: RunEnd): void {
    super.onTestRunEnd(modules, errors, reason)
    const report = createReport(modules, errors)
    const { passed, failed, skipped } = report
    for (const reason of this.#readSkips(modules)) process.stdout.write(`Skipped: ${reason}\n`)
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
    if (this.#reportPath !== undefined && reason !== 'interrupted')
      writeFileSync(this.#reportPath, JSON.stringify(report))
  }

  /** Returns why tests were skipped, each reason once. */
  #readSkips(modules: readonly TestModule[]): string[] {
    const reasons = new Set<string>()
    for (const test of modules.flatMap(each => [...each.children.allTests('skipped')])) {
      const { note } = test.result() as { note?: string }
      if (note !== undefined) reasons.add(`${test.fullName}: ${note}`)
    }
    try {
      const reported = readFileSync(join(this.#skips, 'reasons'), 'utf8')
      for (const reason of reported.split('\n').slice(0, -1)) reasons.add(reason)
    } catch {
      // No file has reported a reason.
    }
    rmSync(this.#skips, { recursive: true })
    return [...reasons]
  }

  /** The line of totals replaces vitest's summary. */
  override reportTestSummary(): void {}
}

function createReport(modules: readonly TestModule[], errors: RunEnd[1]): Report {
  const report: Report = { passed: 0, failed: errors.length, skipped: 0, errors: 0, files: [] }
  for (const each of modules) {
    const failures = [...each.children.allTests()].flatMap(test => {
      const { state, errors: [error] = [] } = test.result()
      if (state !== 'pending') report[state]++
      return state === 'failed' ? [{ test: test.fullName, error: firstLine(error?.message) }] : []
    })
    // An error outside of its tests: in a hook, or while the file was loaded.
    const isFailed = each.state() === 'failed'
    if (isFailed && failures.length === 0) {
      report.failed++
      failures.push({ test: '(outside of its tests)', error: firstLine(hookErrors(each)[0]?.message) })
    }
    for (const error of errors)
      if (error.VITEST_TEST_PATH === each.moduleId)
        failures.push({ test: '(unhandled error)', error: firstLine(error.message) })
    if (failures.length > 0)
      report.files.push({ project: each.project.name, file: relative(process.cwd(), each.moduleId), failures })
  }
  const files = new Set(modules.map(({ moduleId }) => moduleId))
  report.errors = errors.filter(({ VITEST_TEST_PATH: path }) => !files.has(path as string)).length
  return report
}

const hookErrors = (each: TestModule) => [...each.errors(), ...[...each.children.allSuites()].flatMap(s => s.errors())]

const firstLine = (message = ''): string => message.split('\n', 1)[0]!
