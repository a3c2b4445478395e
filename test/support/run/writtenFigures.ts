import { writeSync } from 'node:fs'
import { afterAll, type RunnerTask } from 'vitest'
import { judge, type Bound } from '../../bench/aims.ts'
import { digits, whole } from '../../bench/figures.ts'
import { describeMachine, presentLoad } from '../../bench/machine.ts'
import { requireParts, writePart } from '../../bench/page.ts'

/** The page of measurements that a run must write. */
const page = process.env.BOARD_WRITE_FIGURES

/** The maximum or minimum of a measurement, and the value of a bare server at the same time, which shows the load of the machine. */
interface FigureAim extends Bound {
  beside?: number
}
/** Records a measurement of a test. */
export type NoteFigure = (what: string, value: number, unit?: string, aim?: FigureAim) => void

/**
 * Collects the measurements of a test file, and writes them as its part of the page in BOARD_WRITE_FIGURES, after all of its tests have
 * passed. `bounds` are the variables that set the size of the run. A page that cannot be written fails no test, and is reported on stderr.
 */
export function figuresOf(file: string, bounds: Record<string, string | number | undefined> = {}): NoteFigure {
  const rows: string[][] = []
  if (page === undefined) return () => {}
  const busy = presentLoad()
  const canWrite = attempt(file, () => requireParts(page, [file]))
  // oxlint-disable-next-line no-empty-pattern -- vitest wants a pattern there.
  afterAll(async ({}, suite) => {
    if (!canWrite) return
    if (rows.length === 0 || !hasPassed(suite)) return tell(file, 'not all of its tests have run and passed.')
    const machine = await describeMachine(busy)
    const variables = { BOARD_WRITE_FIGURES: page, BOARD_TEST_ON_DISK: process.env.BOARD_TEST_ON_DISK, ...bounds }
    const set = Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
    const command = `${set.join(' ')} npx vitest run --project ${suite.file.projectName} ${file}`
    attempt(file, () =>
      writePart(page, { name: file, command, machine, heads: ['measurement', 'value', 'target', 'verdict'], rows }),
    )
  })
  return (what, value, unit = '', aim = {}) => {
    rows.push(rowOf(what, value, unit, aim))
  }
}

function rowOf(what: string, value: number, unit: string, { beside, atMost, atLeast }: FigureAim): string[] {
  const shown = (each: number) => `${Number.isInteger(each) ? whole(each) : digits(each)} ${unit}`.trim()
  if (atMost === undefined && atLeast === undefined) return [what, shown(value), '', '']
  const figures = new Map([[what, [value]]])
  if (beside !== undefined) figures.set('beside', [beside])
  const [judged] = judge(figures, [{ title: what, of: what, beside: 'beside', atMost, atLeast }])
  return [what, shown(value), atMost === undefined ? `≥ ${shown(atLeast!)}` : `≤ ${shown(atMost)}`, judged!.verdict]
}

const hasPassed = (task: RunnerTask): boolean =>
  'tasks' in task ? task.tasks.every(hasPassed) : task.result?.state === 'pass'

function attempt(file: string, work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    tell(file, (error as Error).message)
    return false
  }
}

/** Reports directly to stderr, because the output of a passing test is not shown. */
const tell = (file: string, why: string): void => {
  writeSync(2, `The figures of ${file} are not written: ${why}\n`)
}
