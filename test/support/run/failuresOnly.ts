import { ReportersMap, type TestModule, type Vitest } from 'vitest/node'

/** Shows what failed, and ends a run with one plain line of totals, for programs that read them. */
export default class FailuresOnly extends ReportersMap.minimal {
  override onInit(vitest: Vitest): void {
    this.ctx = vitest
  }

  override onTestRunEnd(
    ...[modules, errors, reason]: Parameters<InstanceType<typeof ReportersMap.minimal>['onTestRunEnd']>
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    process.stdout.write(`${closingLine(modules, errors)}\n`)
  }

  /** The closing line says it. */
  override reportTestSummary(): void {}
}

function closingLine(modules: readonly TestModule[], errors: readonly unknown[]): string {
  const totals = { passed: 0, failed: errors.length, skipped: 0 }
  for (const each of modules) {
    const failedBefore = totals.failed
    for (const test of each.children.allTests()) {
      const { state } = test.result()
      if (state !== 'pending') totals[state]++
    }
    // A hook of the file, or the file itself.
    if (each.state() === 'failed' && totals.failed === failedBefore) totals.failed++
  }
  return `${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`
}
